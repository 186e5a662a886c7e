"""Rank tables: which card of which machine is which rank."""
