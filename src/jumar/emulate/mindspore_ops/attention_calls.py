"""The operators that are attention: their arguments in the order of their rows; attention.py has the formula."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..formulas.quantize import to_steps
from .attention import Call, backward, eight, forward, from_heads, to_heads
from .quantized import unpacked
from .registry import NotEmulated, operator

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


def _named(words: str, given: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(words.split(), given))


def _call(a: dict[str, Any]) -> Call:
    bias_type = a.get("bias_type", 1)
    if a["bias"] is not None and a["bias"].size and bias_type in (2, 3):
        raise NotEmulated(f"pse_type {bias_type} is not emulated")
    return Call(
        a["heads"], a["layout"], a["scale"], a["mask"], a["mode"], a["before"], a["after"], a["prefix"], a["bias"],
        bias_type == 1, a["dropped"], a["keep"], a.get("query_ends"), a.get("key_ends"), a["inner"],
    )  # fmt: skip


def _score(words: str, *given: Any) -> Any:
    a = _named(words, given)
    call = _call(a)
    out, top, total = forward(call, a["query"], a["key"], a["value"])
    return eight(top, call.layout), eight(total, call.layout), None, out


def _gradient(words: str, *given: Any) -> Any:
    """The gradient of the position bias is an output that the vendor does not use yet: it is zero."""
    a = _named(words, given)
    return (*backward(_call(a), a["query"], a["key"], a["value"], a["grad"]), 0)


def _infer(words: str, *given: Any) -> Any:
    """Caches may come as lists with one tensor; what is beyond the length of a sequence is not seen."""
    a = _named(words, given)
    if _is_there(a.get("key_shared")):
        raise NotEmulated("attention over a shared cache (`key_shared`) is not emulated")
    layout, _, result_layout = a["layout"].partition("_")
    a["layout"] = layout
    call = Call(a["heads"], layout, a["scale"], mode=a.get("mode", 0), mask=a["mask"], bias=a["bias"],
                before=a.get("before", 2**31 - 1), after=a.get("after", 2**31 - 1), precise=a["inner"])  # fmt: skip
    call = _quantized(a, call)
    q = to_heads(a["query"], a["heads"], layout)
    rows, columns = a.get("lengths") or (), a.get("key_lengths") or ()
    plain, results = call._replace(layout="BNSD"), []
    sums = np.full((*q.shape[:-1], 1), np.inf, np.float32)
    for batch in range(q.shape[0]):
        r = slice(0, _length(rows, batch, q.shape[2]))
        keys, values = _caches(a, batch)
        c = slice(0, _length(columns, batch, keys.shape[2]))
        one = plain._replace(mask=_of(call.mask, batch), bias=_of(call.bias, batch))
        out = np.zeros((*q.shape[1:-1], values.shape[-1]), np.float32)
        found, top, total = forward(one, q[batch : batch + 1, :, r], keys[:, :, c], values[:, :, c])
        out[:, r] = found[0]
        sums[batch, :, r] = np.where(total > 0, np.log(total) + top, np.inf)[0]
        results.append(out)
    out = from_heads(np.stack(results), result_layout or layout)
    return _rounded(a, out), sums if a.get("lse") else 0


def _is_there(x: Any) -> bool:
    return x is not None and np.size(x) > 0


def _quantized(a: dict[str, Any], call: Call) -> Call:
    """Queries, keys and values of eight bits: the scores are multiplied by the first scale."""
    scales = [a[name] for name in ("scale1", "scale2", "scale3")]
    if not any(_is_there(one) for one in scales):
        return call
    if not all(_is_there(one) and np.size(one) == 1 for one in scales):
        raise NotEmulated("quantized attention with scales of channels, or without some of them, is not emulated")
    first, middle, last = (float(unpacked(one).reshape(-1)[0]) for one in scales)
    return call._replace(scale=call.scale * first, steps=(np.float32(middle), np.float32(last)))


def _rounded(a: dict[str, Any], out: Any) -> Any:
    """To eight bits, where a scale of the result is given: one, or one for each channel."""
    if not _is_there(a["scale4"]):
        return out
    fit = _factors(a["scale4"], a, out)
    return to_steps(out * fit + (_factors(a["offset4"], a, out) if _is_there(a["offset4"]) else 0))


def _factors(given: Any, a: dict[str, Any], out: Any) -> Any:
    if np.size(given) == 1:
        return np.reshape(given, -1)[0]
    if a["layout"] == "BNSD" and out.shape[1] == a["heads"]:
        return np.reshape(given, (a["heads"], 1, -1))
    return np.reshape(given, (-1,) if out.ndim == 3 and a["layout"] == "BSH" else (a["heads"], -1))


def _caches(a: dict[str, Any], batch: int) -> Any:
    """Keys and values of a sequence: (1, heads, places, size)."""
    heads, found = a["key_heads"] or a["heads"], []
    for which, name in enumerate(("key", "value")):
        cache = a[name][0] if isinstance(a[name], list) else a[name]
        if _is_there(a.get("table")):
            whole = _paged(cache, a["table"][batch], heads)
        else:
            whole = to_heads(cache[batch : batch + 1], heads, a["layout"])
        found.append(_widened(whole, batch, *_scales(a, which)))
    return found


def _paged(cache: Any, table: Any, heads: int) -> Any:
    """Pages (places, heads · size) or (heads, places, size) in the order of the table, up to the first unused one."""
    used = np.asarray(table)
    used = used[: int(np.argmax(used < 0))] if (used < 0).any() else used
    pages = cache[used]
    if pages.ndim == 3:
        return to_heads(pages.reshape(1, -1, pages.shape[-1]), heads, "BSH")
    return pages.transpose(1, 0, 2, 3).reshape(1, heads, -1, pages.shape[-1])


def _scales(a: dict[str, Any], which: int) -> tuple[Any, Any, int]:
    """Scale, offset and mode of quantised keys (0) or values (1): apart, or both in one tensor."""
    own = ("scale6", "offset6", "key_mode") if which == 0 else ("scale7", "offset7", "value_mode")
    if _is_there(a.get(own[0])):
        return a[own[0]], a.get(own[1]), a.get(own[2], 0)
    scale, offset = (a[name][which] if _is_there(a.get(name)) else None for name in ("scale5", "offset5"))
    return scale, offset, a.get("quant_mode", 0)


def _widened(x: Any, batch: int, scale: Any, offset: Any, mode: int) -> Any:
    """(x + offset) · scale, where there is a scale."""
    if not _is_there(scale):
        return x
    shift = _spread(offset, x, batch, mode) if _is_there(offset) else 0
    return (x.astype(np.float32) + shift) * _spread(scale, x, batch, mode)


def _spread(factors: Any, x: Any, batch: int, mode: int) -> Any:
    """Over (heads, places, size): of channels or of all (0), of tokens (1), of heads (2), of tokens of heads (3)."""
    heads, places, size = x.shape[1:]
    given = np.asarray(factors, np.float32)
    if mode == 0 and given.size in (1, heads * size):
        return given.reshape(-1) if given.size == 1 else given.reshape(heads, 1, size)
    if mode == 2 and given.size == heads:
        return given.reshape(heads, 1, 1)
    if mode == 1 and given.ndim >= 2 and given.shape[-1] >= places:
        return given.reshape(-1, given.shape[-1])[batch, :places, None]
    if mode == 3 and given.ndim >= 3 and given.shape[-1] >= places:
        return given.reshape(-1, heads, given.shape[-1])[batch, :, :places, None]
    raise NotEmulated(f"scales {given.shape} of quantised keys (mode {mode}) are not emulated")


def _length(lengths: Any, batch: int, whole: int) -> int:
    return int(lengths[batch if len(lengths) > 1 else 0]) if lengths else whole


def _of(x: Any, batch: int) -> Any:
    """The part of a mask or bias that belongs to a batch."""
    return x if x is None or x.ndim < 3 or x.shape[0] == 1 else x[batch : batch + 1]


for _names, _run in ((_FORWARD, _score), (_BACKWARD, _gradient), (_INFERENCE, _infer)):
    for _name, _words in _names.items():
        operator(_name)(functools.partial(_run, _words))
