"""Compilers that the emulator has no counterpart of: what a program is told."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
import torch_npu  # noqa: F401


def told(call: Callable[[], Any]) -> str:
    try:
        return f"ran: {call()}"
    except Exception as error:
        return " ".join(line for line in str(error).splitlines() if "jumar:" in line or line.startswith("hint:"))


x = torch.ones(4).npu()
print("dvm:", told(lambda: torch.compile(lambda x: x * 2, options={"npu_backend": "dvm"})(x)))
print("cpp_wrapper:", told(lambda: torch.compile(lambda x: x * 2, options={"cpp_wrapper": True})(x)))
print("npu:", told(lambda: torch.compile(lambda x: x * 2, backend="npu")(x)))


def use_torchair() -> Any:
    import torchair

    return torch.compile(lambda x: x * 2, backend=torchair.get_npu_backend())(x)


print("torchair:", told(use_torchair))
os.environ["PATH"] = ""
print("no compiler:", told(lambda: torch.compile(lambda x: x * 2 + 1)(x)))
