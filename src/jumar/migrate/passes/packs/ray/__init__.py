"""Ray: NPUs are a resource named `NPU`."""
