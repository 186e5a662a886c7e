"""Operators of the stand-in libraries that the Python process of a MindSpore program computes with numpy and scipy.

An operator is a row of `[bridged]` in native/api/mindspore (its parameters) and a function here, registered under its
name. Functions get their inputs in the order of the row: tensors as arrays (half precision as float32), numbers, tuples
of integers, texts; they return a value for each output. Loaded by its path in interpreters without Jumar
(`JUMAR_MINDSPORE_KERNELS`); Python 3.7, numpy and scipy only.
"""
