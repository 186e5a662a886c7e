"""Findings in, text out: nothing is computed or printed here."""
