"""CANN's `tbe` as programs ask it about the chip: its compiler is not here."""
