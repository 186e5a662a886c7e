"""What a graph sends to its program: on a device through channels; here what is to be printed is printed at once."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from .memory import BFLOAT16, FLOAT16
from .registry import NotEmulated, operator

_PRINTED = "_npu_log"
_SHORTENED = 1000  # elements; MindSpore's own text of a larger tensor leaves some out
_TENSOR = 0  # of the vendor's enum acltdtTensorType


@operator("OutfeedEnqueueOpV2", "OutfeedEnqueueOp")
def send(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """One line or more for each value, as MindSpore prints what it receives. The last input is the name of the node."""
    if not inputs:
        raise ValueError("nothing to print")
    channel = attributes.get("channel_name", "")
    if channel != _PRINTED:
        return _hand_over(channel, inputs)
    for at, value in enumerate(inputs[:-1]):
        sys.stdout.write(_shown(value, inputs.place(at)) + "\n")
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
        raw = place.raw()
        data = np.ascontiguousarray(raw).reshape(raw.shape)  # it would give a single number an axis
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


def _shown(value: Any, place: Any) -> str:
    """A tensor as MindSpore prints what it receives: all of its values, in the type that was sent."""
    if isinstance(value, str):
        return value
    kinds = sys.modules["mindspore"]
    given = place.raw() if place.type == FLOAT16 else value
    as_sent = {"dtype": kinds.bfloat16} if place.type == BFLOAT16 else {}
    head, _, body = repr(kinds.Tensor(np.array(given), **as_sent)).partition("value=")
    if value.size > _SHORTENED:
        body = ("\n" if value.ndim > 1 else "") + _rows(_texts(given), 1) + ")"
    plain = body.replace(",", "")
    return f"{head}value={plain[1:] if plain.startswith(' ') else plain}"


def _texts(values: Any) -> Any:
    """Each number as text, all of the same width."""
    floating = values.dtype.kind == "f"
    texts = [f"{value: .8e}" if floating else str(value) for value in values.reshape(-1).tolist()]
    width = max(map(len, texts))
    return np.array([text.rjust(width) for text in texts], object).reshape(values.shape)


def _rows(texts: Any, depth: int) -> str:
    if texts.ndim == 1:
        return f"[{' '.join(texts)}]"
    between = "\n" * (texts.ndim - 1) + " " * depth
    return f"[{between.join(_rows(row, depth + 1) for row in texts)}]"
