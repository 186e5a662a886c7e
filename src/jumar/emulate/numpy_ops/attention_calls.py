"""The operators that are attention: their arguments in the order of their rows; attention.py has the formula."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .attention import Call, backward, eight, forward, from_heads, to_heads
from .registry import NotEmulated, kernel

_TENSORS = "query key value bias dropped padding mask prefix "
_GIVEN = "query key value grad bias dropped padding mask top total weights out prefix "
_NUMBERS = "scale keep before after heads layout inner mode"
_STARTS, _ENDS = "query_start key_start ", "query_ends key_ends "


def _forms(tensors: str, plain: str, unpadded: str) -> dict[str, str]:
    """The parameters of a call by its name: plain or unpadded, and their second versions."""
    return {
        plain: tensors + _NUMBERS,
        plain + "V2": tensors + _STARTS + _NUMBERS + " bias_type",
        unpadded: tensors + _ENDS + _NUMBERS,
        unpadded + "V2": tensors + _ENDS + _STARTS + _NUMBERS + " bias_type",
    }


_FORWARD = _forms(_TENSORS, "aclnnFlashAttentionScore", "aclnnFlashAttentionVarLenScore")
_BACKWARD = _forms(_GIVEN, "aclnnFlashAttentionScoreGrad", "aclnnFlashAttentionUnpaddingScoreGrad")
_SCALES = "scale1 scale2 scale3 scale4 offset4 "
_INFERENCE = {
    "aclnnPromptFlashAttentionV3": "query key value bias mask lengths key_lengths "
    + _SCALES
    + "heads scale before after layout key_heads mode inner",
    "aclnnIncreFlashAttentionV4": "query key value bias mask key_lengths "
    + _SCALES
    + "scale5 offset5 table padding heads scale layout key_heads block inner",
    "aclnnFusedInferAttentionScoreV2": "query key value bias mask lengths key_lengths "
    + _SCALES
    + "scale5 offset5 table query_padding padding scale6 offset6 scale7 offset7 key_shared value_shared shared_length "
    "heads scale before after layout key_heads mode inner block quant_mode lse key_mode value_mode",
}
_LENGTHS = ("query_ends", "key_ends")


def _named(words: str, given: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(words.split(), given))


def _call(a: dict[str, Any]) -> Call:
    bias_type = a.get("bias_type", 1)
    if a["bias"] is not None and a["bias"].size and bias_type in (2, 3):
        raise NotEmulated(f"pse_type {bias_type} is not emulated")
    return Call(
        a["heads"], a["layout"], a["scale"], a["mask"], a["mode"], a["before"], a["after"], a["prefix"], a["bias"],
        bias_type == 1, a["dropped"], a["keep"], *(a.get(name) for name in _LENGTHS),
    )  # fmt: skip


def _score(words: str, *given: Any) -> Any:
    a = _named(words, given)
    call = _call(a)
    out, top, total = forward(call, a["query"], a["key"], a["value"])
    return eight(top, call.layout), eight(total, call.layout), None, out


def _gradient(words: str, *given: Any) -> Any:
    a = _named(words, given)
    call = _call(a)
    if call.bias is not None and call.bias.size:
        raise NotEmulated("the gradient with a position bias (`real_shift`) is not emulated")
    return (*backward(call, a["query"], a["key"], a["value"], a["grad"]), None)


def _infer(words: str, *given: Any) -> Any:
    """Caches may come as lists with one tensor; what is beyond the length of a sequence is not seen."""
    a = _named(words, given)
    key, value = (x[0] if isinstance(x, list) else x for x in (a["key"], a["value"]))
    if any(np.size(v) for k, v in a.items() if k.startswith(("scale", "offset")) and k != "scale" and v is not None):
        raise NotEmulated("quantized attention is not emulated")
    for name in ("table", "key_shared"):
        if a.get(name) is not None and np.size(a[name]):
            raise NotEmulated(f"attention over a cache of pages (`{name}`) is not emulated")
    layout = a["layout"]
    call = Call(a["heads"], layout, a["scale"], mode=a.get("mode", 0), mask=a["mask"], bias=a["bias"],
                before=a.get("before", 2**31 - 1), after=a.get("after", 2**31 - 1))  # fmt: skip
    q = to_heads(a["query"], a["heads"], layout)
    heads = a["key_heads"] or a["heads"]
    keys, values = to_heads(key, heads, layout), to_heads(value, heads, layout)
    rows, columns = a.get("lengths") or (), a.get("key_lengths") or ()
    out = np.zeros((*q.shape[:-1], values.shape[-1]), np.float32)
    plain = call._replace(layout="BNSD")
    for batch in range(q.shape[0]):
        r = slice(0, _length(rows, batch, q.shape[2]))
        c = slice(0, _length(columns, batch, keys.shape[2]))
        one = plain._replace(mask=_of(call.mask, batch), bias=_of(call.bias, batch))
        at = slice(batch, batch + 1)
        out[batch, :, r] = forward(one, q[at, :, r], keys[at, :, c], values[at, :, c])[0][0]
    return from_heads(out, layout)


def _length(lengths: Any, batch: int, whole: int) -> int:
    return int(lengths[batch if len(lengths) > 1 else 0]) if lengths else whole


def _of(x: Any, batch: int) -> Any:
    """The part of a mask or bias that belongs to a batch."""
    return x if x is None or x.ndim < 3 or x.shape[0] == 1 else x[batch : batch + 1]


for _names, _run in ((_FORWARD, _score), (_BACKWARD, _gradient), (_INFERENCE, _infer)):
    for _name, _words in _names.items():
        kernel(_name)(functools.partial(_run, _words))
