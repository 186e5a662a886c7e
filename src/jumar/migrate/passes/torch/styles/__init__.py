"""The three ways to write the result: one module per style, all with the same few functions."""
