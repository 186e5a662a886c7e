"""Megatron on NPUs: MindSpeed patches it."""
