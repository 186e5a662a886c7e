"""The elements of a pipeline, a file for each kind."""
