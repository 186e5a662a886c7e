"""Holds `interface` and the command line."""
