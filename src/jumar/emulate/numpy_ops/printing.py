"""What a graph sends to its program: on a device through channels; here what is to be printed is printed at once."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from .registry import NotEmulated, operator

_PRINTED = "_npu_log"
_TENSOR = 0  # of the vendor's enum acltdtTensorType


@operator("OutfeedEnqueueOpV2", "OutfeedEnqueueOp")
def send(inputs: Any, attributes: Any, _: Any) -> Any:
    """One line or more for each value, as MindSpore prints what it receives. The last input is the name of the node."""
    if not inputs:
        raise ValueError("nothing to print")
    channel = attributes.get("channel_name", "")
    if channel != _PRINTED:
        return _hand_over(channel, inputs)
    for value in inputs[:-1]:
        sys.stdout.write(_shown(value) + "\n")
    sys.stdout.flush()
    return ()


def _hand_over(channel: str, inputs: Any) -> Any:
    """Dumped and summarized tensors: MindSpore waits for them at the other end."""
    library = ctypes.CDLL("libjumar_ascend.so")
    for function in (library.acltdtCreateDataset, library.acltdtCreateDataItem):
        function.restype = ctypes.c_void_p
    dataset = ctypes.c_void_p(library.acltdtCreateDataset())
    kept = []
    for at in range(len(inputs) - 1):
        place = inputs.place(at)
        data = np.ascontiguousarray(place.raw())
        dims = (ctypes.c_int64 * data.ndim)(*data.shape)
        given = (_TENSOR, dims, ctypes.c_size_t(data.ndim), place.type, data.ctypes.data_as(ctypes.c_void_p))
        item = ctypes.c_void_p(library.acltdtCreateDataItem(*given, ctypes.c_size_t(data.nbytes)))
        library.acltdtAddDataItem(dataset, item)
        kept.append((item, data))
    received = library.jumarOutfeed(channel.encode(), str(inputs[-1]).encode(), dataset)
    for item, _ in kept:
        library.acltdtDestroyDataItem(item)
    library.acltdtDestroyDataset(dataset)
    if not received:
        raise NotEmulated(f"nobody receives from channel {channel!r}")
    return ()


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value.ndim == 0:
        return str(value)
    return repr(sys.modules["mindspore"].Tensor(value.copy()))
