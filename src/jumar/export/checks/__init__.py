"""The checks of `jumar export check`, one per file."""
