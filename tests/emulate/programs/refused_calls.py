"""Makes calls that the emulator refuses, one that falls back, and goes on; then makes the named one again and fails."""

import sys

import torch
import torch_npu

x = torch.randn(4, 4).npu()


def function():
    torch_npu.npu.set_dump(sys.executable)  # any file that is there


def operator():
    torch_npu.npu_fused_attention_layernorm_qkv_fwd(x, x, x, x, x, x)


def arguments():
    torch_npu.npu_lstm(x, x, x, x, x, x, True, 1, 0.0, True, False, False, True, False)


def value():
    raise ValueError("nothing was refused here")


for call in (function, operator, arguments):
    try:
        call()
    except (RuntimeError, NotImplementedError) as error:
        print(error)
torch.linalg.eigvalsh(x)
if sys.argv[1:]:
    globals()[sys.argv[1]]()
