"""Grouped products: each group of rows (or of inner columns) with a matrix of its own, quantised ones too.

Formulas and shapes as documented for aclnnGroupedMatmulV2 to V4 (CANN 8.3, gmm/grouped_matmul/docs).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..formulas.activation import inside
from ..formulas.quantize import to_steps
from .quantized import unpacked
from .registry import NotEmulated, operator

_NUMBERED = {1: "relu", 2: "gelu", 4: "fastgelu", 5: "silu"}
_INT8 = np.dtype(np.int8)


class _Extras(NamedTuple):
    """What belongs to a product beside its matrices: lists of tensors, or of one tensor for all groups."""

    bias: Any = None
    scale: Any = None
    offset: Any = None
    anti_scale: Any = None
    anti_offset: Any = None
    token_scale: Any = None


@operator("aclnnGroupedMatmulV2", "aclnnGroupedMatmulV3", stepwise=True)
def grouped_matmul(
    x: Any, weight: Any, bias: Any, scale: Any, offset: Any, anti_scale: Any, anti_offset: Any, group_list: Any,
    split: int, group_type: int, *_: Any, outputs: Any,
) -> Any:  # fmt: skip
    extras = _Extras(bias, scale, offset, anti_scale, anti_offset)
    return _fitted(_products(x, weight, extras, group_list, 0, group_type), x, split, group_type, outputs)


@operator("aclnnGroupedMatmulV4", stepwise=True)
def grouped_matmul_v4(
    x: Any, weight: Any, bias: Any, scale: Any, offset: Any, anti_scale: Any, anti_offset: Any, token_scale: Any,
    group_list: Any, activation: Any, activation_scale: Any, activation_offset: Any, split: int, group_type: int,
    list_type: int, act: int, *_: Any, outputs: Any,
) -> Any:  # fmt: skip
    if any(_is_there(one) for many in (activation, activation_scale, activation_offset) for one in many or []):
        raise NotEmulated("an input of the activation is not emulated")
    if act and act not in _NUMBERED:
        raise NotEmulated(f"activation {act} behind the product is not emulated")
    extras = _Extras(bias, scale, offset, anti_scale, anti_offset, token_scale)
    found = _products(x, weight, extras, group_list, list_type, group_type)
    found = [inside(one, _NUMBERED[act]) for one in found] if act else found
    return _fitted(found, x, split, group_type, outputs)


def _is_there(one: Any) -> bool:
    return one is not None and np.size(one) > 0


def _products(x: Any, weight: Any, extras: _Extras, group_list: Any, list_type: int, group_type: int) -> list[Any]:
    """Groups of rows (0), of the inner axis (2), or a product for each pair (-1)."""
    if group_type == -1 or group_list is None or len(x) > 1:
        return [_product(a, b, extras, at, slice(None)) for at, (a, b) in enumerate(zip(x, _matrices(weight)))]
    whole = x[0]
    if group_type == 2:
        parts = _segments(group_list, whole.shape[1], list_type)
        return [_product(whole[:, a:b], weight[0][a:b], extras, at, slice(None)) for at, (a, b) in enumerate(parts)]
    matrices, parts = _matrices(weight), _segments(group_list, whole.shape[0], list_type)
    chosen = np.asarray(group_list)[:, 0].tolist() if list_type == 2 else range(len(parts))
    return [_product(whole[a:b], matrices[at], extras, at, slice(a, b)) for at, (a, b) in zip(chosen, parts)]


def _matrices(weight: Any) -> list[Any]:
    return list(weight[0]) if len(weight) == 1 and weight[0].ndim == 3 else weight


def _segments(group_list: Any, rows: int, list_type: int) -> list[tuple[int, int]]:
    """Where each group begins and ends: the list has ends, sizes, or pairs of a group and its size."""
    given = np.asarray(group_list)
    sizes = given[:, 1] if list_type == 2 else given
    ends = np.minimum((np.cumsum(sizes) if list_type else sizes).astype(np.int64), rows)
    return list(zip([0, *ends[:-1].tolist()], ends.tolist()))


def _at(many: Any, group: int, dims: int) -> Any:
    """The tensor of a group; `dims` is what one tensor for all groups has at least."""
    given = [one for one in many or [] if _is_there(one)]
    if not given:
        return None
    return given[group] if len(given) > 1 else given[0][group] if given[0].ndim >= dims else given[0]


def _product(x: Any, weight: Any, extras: _Extras, at: int, rows: slice) -> Any:
    bias, anti_scale = _at(extras.bias, at, 2), _at(extras.anti_scale, at, 2)
    if anti_scale is not None:
        weight = _widened(weight, anti_scale, _at(extras.anti_offset, at, 2), x.dtype)
    if x.dtype != _INT8:
        out = np.matmul(_wide(x), _wide(weight))
        return out if bias is None else out + _wide(bias)
    return _of_integers(x, weight, bias, extras, at, rows)


def _of_integers(x: Any, weight: Any, bias: Any, extras: _Extras, at: int, rows: slice) -> Any:
    """(x · weight + whole bias) · scale · scale of the token + bias, or + offset."""
    scale, offset = _at(extras.scale, at, 2), _at(extras.offset, at, 2)
    token = [one for one in extras.token_scale or [] if _is_there(one)]
    whole = bias is not None and bias.dtype.kind in "iu"
    if scale is None:
        return _exact(x, weight) + (bias if whole else 0)
    scale = unpacked(scale)
    if scale.ndim == 2 and len(scale) > 1:
        if bias is not None or offset is not None:
            raise NotEmulated("scales of parts of the inner axis with a bias or an offset are not emulated")
        step = x.shape[1] // len(scale)
        parts = [slice(part * step, (part + 1) * step) for part in range(len(scale))]
        out = sum(_exact(x[:, one], weight[one]).astype(np.float32) * scale[part] for part, one in enumerate(parts))
    else:
        if token and offset is not None:
            raise NotEmulated("an offset beside scales of tokens is not emulated")
        out = (_exact(x, weight) + (bias if whole else 0)).astype(np.float32) * scale.reshape(-1)
    if token:
        out = out * (token[at] if len(token) > 1 else token[0][rows]).reshape(-1, 1)
    if bias is not None and not whole:
        out = out + _wide(bias)
    return out if offset is None else out + offset


def _exact(x: Any, weight: Any) -> Any:
    """A product of integers: in float64, which has room for their sums and a library."""
    return np.matmul(x.astype(np.float64), weight.astype(np.float64))


def _widened(weight: Any, scale: Any, shift: Any, kind: Any) -> Any:
    """(value + shift) · scale in the type of the other factor; scales of each column, or of parts of the inner axis."""

    def over_rows(factors: Any) -> Any:
        factors = factors.astype(kind)
        return np.repeat(factors, weight.shape[0] // len(factors), 0) if factors.ndim == 2 else factors

    plain = weight.astype(kind)
    return (plain if shift is None else plain + over_rows(shift)) * over_rows(scale)


def _wide(values: Any) -> Any:
    return values.astype(np.float32) if values.dtype == np.float16 else values


def _fitted(found: list[Any], x: Any, split: int, group_type: int, outputs: Any) -> Any:
    """One tensor for each group, or all in one."""
    if outputs[0] is not None and outputs[0].dtype == _INT8:
        found = [to_steps(one) for one in found]
    if split in (0, 1) or (group_type == -1 and len(outputs) > 1):
        return found
    if group_type == 2:
        return np.stack(found)
    if not found:
        return 0
    joined = np.concatenate(found)
    missing = x[0].shape[0] - len(joined) if len(x) == 1 else 0
    return np.concatenate([joined, np.zeros((missing, joined.shape[1]), joined.dtype)]) if missing > 0 else joined
