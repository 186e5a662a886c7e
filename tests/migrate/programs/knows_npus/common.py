import importlib.util

NPU_THERE = importlib.util.find_spec("torch_npu") is not None
