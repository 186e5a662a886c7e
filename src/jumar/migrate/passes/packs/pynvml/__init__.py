"""NVML: reading the state of NVIDIA cards."""
