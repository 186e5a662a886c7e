"""Triton kernels on the emulated card: run over host memory, many programs of a grid at a time."""
