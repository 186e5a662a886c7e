"""vLLM on NPUs: the plug-in vllm-ascend."""
