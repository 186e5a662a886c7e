"""The dry run: the real program, torch_npu and its caching allocator, and no arithmetic."""
