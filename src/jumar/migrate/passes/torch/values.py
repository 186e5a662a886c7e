"""What a setting with a certain name and value means for a migration, in configs and on command lines alike."""

from __future__ import annotations

import re
from typing import NamedTuple

from jumar.core.finding import State

_DEVICE = re.compile(r"cuda(:\d+)?")
_DEVICE_KEY = re.compile(
    r"(?:.*[_.\-])?(?:devices?|device[_-](?:type|map|name|id|str)|map[_-]location|target[_-]device)", re.I
)
_BACKEND_KEY = re.compile(r".*backend.*|dist(?:ributed)?|comm|pg[_-]type|process[_-]group", re.I)
_ATTENTION_KEY = re.compile(r".*attn.*|.*attention.*", re.I)
_COUNT_KEY = re.compile(
    r"(?:.*[_.\-])?(?:n|num|number|max|min|total|world)?[_-]?n?gpus?(?:[_-](?:ids?|list|num|count|per[_-]\w+|index|rank))?"
    r"|.*per[_-]gpu.*|.*gpus?[_-]per[_-].*|gpu[_-](?:batch|memory|mem).*|.*[_-]gpu[_-](?:memory|mem|batch).*",
    re.I,
)
_COUNT = re.compile(r"-?[\d.]+(?:[,\s\-:]*\d+)*|auto|all|none|null|~|\$.*|\{.*\}|<.*>|%.*%|", re.I)
ATTENTION = ("flash_attention_2", "flash_attention_3", "flash_attn", "flash_attn_2", "xformers", "flash")


class Judgement(NamedTuple):
    state: State
    message: str
    new: str | None = None
    """The value to write, where it is sure."""
    fix: str | None = None


def judge(key: str, value: str, devices: frozenset[str] = frozenset()) -> Judgement | None:
    """What to do about `key: value`; None when it does not depend on CUDA or is not known.

    `devices` are further keys that the project's Python code uses for devices and nothing else.
    """
    is_device = bool(_DEVICE_KEY.fullmatch(key)) or key.replace("-", "_").lower() in devices
    if _DEVICE.fullmatch(value) and is_device:
        new = value.replace("cuda", "npu")
        return Judgement(State.REWRITTEN, f"device `{value}` becomes `{new}`", new)
    if "nccl" in value:
        return _backend(key, value)
    if value in ("gpu", "GPU", "cuda") or (value == "gpus" and "device" in key):
        return _gpu(key, value)
    if value in ATTENTION and _ATTENTION_KEY.fullmatch(key):
        fix = "use PyTorch's own attention (`sdpa` in transformers), or keep it if the library has NPU kernels for it"
        return Judgement(State.HAND, f"attention `{value}` comes from a CUDA package", None, fix)
    if _COUNT_KEY.fullmatch(key) and _COUNT.fullmatch(value):
        return Judgement(State.BENIGN, f"`{key}` counts or numbers cards and works unchanged with NPUs")
    return None


def _backend(key: str, value: str) -> Judgement | None:
    if not re.fullmatch(r"(?:cpu:\w+,)?(?:cuda:)?nccl(?:,cpu:\w+)?", value):
        return None
    if not _BACKEND_KEY.fullmatch(key):
        return Judgement(State.HAND, f"`{key}` is `{value}`", None, "NPUs communicate with `hccl`")
    new = value.replace("cuda:", "npu:").replace("nccl", "hccl")
    return Judgement(State.REWRITTEN, f"backend `{value}` becomes `{new}`", new)


def _gpu(key: str, value: str) -> Judgement | None:
    if key == "accelerator" or key.endswith("accelerator"):
        fix = "Lightning has no NPU accelerator of its own: register one, or let the program choose the device"
        return Judgement(State.HAND, f"accelerator `{value}` means CUDA", None, fix)
    if _DEVICE_KEY.fullmatch(key):
        return Judgement(
            State.HAND,
            f"device `{value}` is the program's own word",
            None,
            "check what the program does with it; NPUs are `npu`",
        )
    return None
