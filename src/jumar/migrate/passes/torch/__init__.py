"""PyTorch and CUDA: what the rules for Python, shell text, configs, requirements and native code share."""
