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


_CACHED = ("scale5", "offset5")
"""Of quantised keys and values."""


def _infer(words: str, *given: Any) -> Any:
    """Caches may come as lists with one tensor; what is beyond the length of a sequence is not seen."""
    a = _named(words, given)
    quantized = {k: v for k, v in a.items() if k.startswith(("scale", "offset")) and k not in ("scale", *_CACHED)}
    if any(v is not None and np.size(v) for v in quantized.values()):
        raise NotEmulated("quantized attention is not emulated")
    if a.get("key_shared") is not None and np.size(a["key_shared"]):
        raise NotEmulated("attention over a shared cache (`key_shared`) is not emulated")
    layout = a["layout"]
    call = Call(a["heads"], layout, a["scale"], mode=a.get("mode", 0), mask=a["mask"], bias=a["bias"],
                before=a.get("before", 2**31 - 1), after=a.get("after", 2**31 - 1))  # fmt: skip
    q = to_heads(a["query"], a["heads"], layout)
    rows, columns = a.get("lengths") or (), a.get("key_lengths") or ()
    plain, results = call._replace(layout="BNSD"), []
    for batch in range(q.shape[0]):
        r = slice(0, _length(rows, batch, q.shape[2]))
        keys, values = _caches(a, batch)
        c = slice(0, _length(columns, batch, keys.shape[2]))
        one = plain._replace(mask=_of(call.mask, batch), bias=_of(call.bias, batch))
        out = np.zeros((*q.shape[1:-1], values.shape[-1]), np.float32)
        out[:, r] = forward(one, q[batch : batch + 1, :, r], keys[:, :, c], values[:, :, c])[0][0]
        results.append(out)
    return from_heads(np.stack(results), layout)


def _caches(a: dict[str, Any], batch: int) -> Any:
    """Keys and values of a sequence: (1, heads, places, size)."""
    heads, found = a["key_heads"] or a["heads"], []
    for which, name in enumerate(("key", "value")):
        cache = a[name][0] if isinstance(a[name], list) else a[name]
        if a.get("table") is not None and np.size(a["table"]):
            whole = _paged(cache, a["table"][batch], heads)
        else:
            whole = to_heads(cache[batch : batch + 1], heads, a["layout"])
        found.append(_widened(whole, which, *(a.get(one) for one in _CACHED)))
    return found


def _paged(cache: Any, table: Any, heads: int) -> Any:
    """Pages (places, heads · size) or (heads, places, size) in the order of the table, up to the first unused one."""
    used = np.asarray(table)
    used = used[: int(np.argmax(used < 0))] if (used < 0).any() else used
    pages = cache[used]
    if pages.ndim == 3:
        return to_heads(pages.reshape(1, -1, pages.shape[-1]), heads, "BSH")
    return pages.transpose(1, 0, 2, 3).reshape(1, heads, -1, pages.shape[-1])


def _widened(x: Any, which: int, scale: Any, offset: Any) -> Any:
    """Quantised keys (0) or values (1): (x + offset) · scale, with a factor for each channel."""
    if scale is None or not np.size(scale):
        return x
    if np.size(scale) != 2 * x.shape[1] * x.shape[-1]:
        raise NotEmulated(f"scales {np.shape(scale)} of quantised keys is not emulated")
    shape = (2, x.shape[1], 1, x.shape[-1])
    shift = np.reshape(offset, shape)[which] if offset is not None and np.size(offset) else 0
    return (x.astype(np.float32) + shift) * np.reshape(scale, shape)[which]


def _length(lengths: Any, batch: int, whole: int) -> int:
    return int(lengths[batch if len(lengths) > 1 else 0]) if lengths else whole


def _of(x: Any, batch: int) -> Any:
    """The part of a mask or bias that belongs to a batch."""
    return x if x is None or x.ndim < 3 or x.shape[0] == 1 else x[batch : batch + 1]


for _names, _run in ((_FORWARD, _score), (_BACKWARD, _gradient), (_INFERENCE, _infer)):
    for _name, _words in _names.items():
        kernel(_name)(functools.partial(_run, _words))
