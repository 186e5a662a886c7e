"""Addresses of the cards' own network ports: planned, checked, set."""
