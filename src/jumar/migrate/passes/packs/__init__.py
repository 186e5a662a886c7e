"""What is known about single libraries: a folder for each, with rows, rules and pages.

A **pack** is `<library>/rows.toml`, rules that no row can say in `<library>/<language>/`, and pages in
`docs/rules/<library>/`. It is found by its place. The rows of a pack are one rule; `rows.py` says what a row may hold.
"""
