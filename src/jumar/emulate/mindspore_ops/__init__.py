"""Operators of the stand-in libraries that the Python process of a MindSpore program computes with numpy and scipy.

An operator is a row of `[bridged]` in native/api/mindspore (its parameters) and a function here, declared under its
name: an operator call (`aclnnAddRmsNorm`) or an operator by type (`ApplyAdaMax`). Functions get the inputs of the row
by name: tensors as arrays (half precision as float32), numbers, tuples of integers, texts; they return a value for each
output. What they share with torch's operators is in `../formulas`. Loaded by its path in interpreters without Jumar
(`JUMAR_MINDSPORE_KERNELS`); Python 3.7, numpy and scipy only.
"""
