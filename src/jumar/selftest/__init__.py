"""The same cases on a card and on the emulator, and what their differences mean."""
