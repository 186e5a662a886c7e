"""CUDA sources that are compiled by the program."""
