"""NPU-only operators (`torch.ops.npu.*`) from their public formulas: one family per file, one function each."""
