"""The command line: `main.py` and one `cmd_<verb>.py` per verb; the only part that prints."""
