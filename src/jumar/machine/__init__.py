"""The machine: what it is (`probe`, `parse`), whether it is right (`checks`), what fits on it (`plan`)."""
