"""What every feature stands on: errors, findings, sources, edits; standard library only."""
