"""The base of every feature: errors, findings, sources, edits; standard library only."""
