"""Jumar takes PyTorch/CUDA and MindSpore training code to Ascend NPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from jumar.compare.api import record as record


def __getattr__(name: str) -> Any:
    """`jumar.record` needs torch, so it is loaded on first use."""
    if name == "record":
        from jumar.compare.api import record

        return record
    raise AttributeError(f"module 'jumar' has no attribute {name!r}")
