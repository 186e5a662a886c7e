"""Traps of torch_npu itself, in code that calls it already."""
