"""Holds `interface`."""
