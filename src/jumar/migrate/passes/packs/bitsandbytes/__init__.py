"""bitsandbytes: no NPU backend in its released wheels."""
