"""Readers of what vendor commands print and vendor files hold; an unknown layout is refused, never guessed."""
