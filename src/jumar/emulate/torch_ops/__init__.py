"""NPU-only operators (`torch.ops.npu.*`) from their public formulas: a family per file, a function each."""
