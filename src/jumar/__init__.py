"""Jumar takes PyTorch/CUDA and MindSpore training code to Ascend NPUs."""

__version__ = "0.1.0"

TYPE_CHECKING = False
"""As in `typing`, whose import is worth more time than all of this."""
if TYPE_CHECKING:
    from typing import Any

    from jumar.compare.api import record as record


def is_emulated() -> bool:
    """Whether the NPUs of this process are emulated: those it uses, or would use once it imports torch_npu."""
    from jumar.runtime import standins

    return standins.are_used()


def __getattr__(name: str) -> "Any":
    """`jumar.record` needs torch, so it is loaded on first use."""
    if name == "record":
        from jumar.compare.api import record

        return record
    raise AttributeError(f"module 'jumar' has no attribute {name!r}")
