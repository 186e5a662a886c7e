"""Readers of profile files, one kind per module; what is broken is skipped and said, never guessed."""
