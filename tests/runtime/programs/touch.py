"""Touches a card twice, and tells whether it is emulated."""

import torch

import jumar

before = jumar.is_emulated()
torch.npu.set_device(0)
total = torch.ones(3, device="npu").sum().item()
torch.npu.set_device(1)
print(before, jumar.is_emulated(), total, torch.npu.get_device_name(0))
