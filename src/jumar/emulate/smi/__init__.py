"""npu-smi of the emulated machine: live memory and processes, in the layout of each chip."""
