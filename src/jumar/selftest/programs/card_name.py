"""Says how torch_npu calls the first card."""

import sys

import torch
import torch_npu  # noqa: F401

sys.stdout.write(torch.npu.get_device_name(0) + "\n")
