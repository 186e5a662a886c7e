"""Jumar takes PyTorch/CUDA and MindSpore training code to Ascend NPUs."""

__version__ = "0.1.0"
