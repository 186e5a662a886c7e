"""What is known about each subject of a migration, one folder each; `migrate/rule.py` says what a pass is."""
