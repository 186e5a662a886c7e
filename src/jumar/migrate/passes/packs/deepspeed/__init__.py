"""DeepSpeed on NPUs: its accelerator `npu` is part of it."""
