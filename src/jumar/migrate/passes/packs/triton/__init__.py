"""Triton on NPUs: triton-ascend."""
