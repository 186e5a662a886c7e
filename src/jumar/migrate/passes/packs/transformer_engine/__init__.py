"""Transformer Engine: layers with CUDA kernels."""
