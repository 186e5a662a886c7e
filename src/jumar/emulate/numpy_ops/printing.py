"""`print` in a graph: on a device the values reach the host through a channel; here they are printed at once."""

from __future__ import annotations

import sys
from typing import Any

from .registry import operator

_CHANNEL = "_npu_log"


@operator("OutfeedEnqueueOpV2", "OutfeedEnqueueOp")
def send(inputs: Any, attributes: Any, _: Any) -> Any:
    """One line or more for each value, as MindSpore prints what it receives. The last input is the name of the node."""
    if not inputs:
        raise ValueError("nothing to print")
    if attributes.get("channel_name") == _CHANNEL:
        for value in inputs[:-1]:
            sys.stdout.write(_shown(value) + "\n")
        sys.stdout.flush()
    return ()


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value.ndim == 0:
        return str(value)
    return repr(sys.modules["mindspore"].Tensor(value.copy()))
