"""Typed readers of the facts under `data/`."""
