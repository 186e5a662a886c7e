"""Rules about Python code."""
