"""Matrices: products that add, inverses, factors, diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from .registry import NotEmulated, kernel

kernel("aclnnTrace")(np.trace)
kernel("aclnnInverse")(np.linalg.inv)
kernel("aclnnDiag")(np.diag)
kernel("aclnnAddbmm")(lambda x, left, right, beta, alpha, _: beta * x + alpha * np.matmul(left, right).sum(0))
kernel("aclnnAddmv")(lambda x, matrix, vector, alpha, beta, _: beta * x + alpha * np.matmul(matrix, vector))
kernel("aclnnInplaceAddmm")(lambda x, left, right, beta, alpha, _: beta * x + alpha * np.matmul(left, right))
kernel("aclnnInplaceAddr")(lambda x, left, right, beta, alpha: beta * x + alpha * np.outer(left, right))


@kernel("aclnnLinalgQr")
def qr(x: Any, mode: int) -> Any:
    if mode == 2:  # only r
        return None, np.linalg.qr(x, "r")
    return np.linalg.qr(x, "complete" if mode == 1 else "reduced")


@kernel("aclnnTriangularSolve")
def triangular_solve(right: Any, matrix: Any, upper: int, transposed: int, unit: int) -> Any:
    many = np.broadcast_shapes(right.shape[:-2], matrix.shape[:-2])
    right = np.broadcast_to(right, (*many, *right.shape[-2:]))
    matrix = np.broadcast_to(matrix, (*many, *matrix.shape[-2:]))
    out = np.empty(right.shape, right.dtype)
    for at in np.ndindex(many):
        out[at] = linalg.solve_triangular(
            matrix[at], right[at], trans=1 if transposed else 0, lower=not upper, unit_diagonal=bool(unit)
        )
    return out, matrix


@kernel("aclnnInplaceFillDiagonal")
def fill_diagonal(x: Any, value: float, wrap: int) -> Any:
    out = np.array(x)
    np.fill_diagonal(out, value, bool(wrap))
    return out


@kernel("aclnnCdist")
def distances(left: Any, right: Any, power: float, _: int) -> Any:
    apart = np.abs(left[..., :, None, :] - right[..., None, :, :])
    if power == 0:
        return (apart != 0).sum(-1)
    return apart.max(-1) if np.isinf(power) else (apart**power).sum(-1) ** (1 / power)


def _segments(group_list: Any, rows: int, counts: bool) -> list[tuple[int, int]]:
    """Where each group begins and ends: the list has ends, or sizes."""
    ends = np.cumsum(group_list) if counts else np.asarray(group_list)
    ends = np.minimum(ends.astype(np.int64), rows)
    return list(zip([0, *ends[:-1].tolist()], ends.tolist()))


@kernel("aclnnGroupedMatmulV2", "aclnnGroupedMatmulV3", stepwise=True)
def grouped_matmul(
    x: Any, weight: Any, bias: Any, scale: Any, offset: Any, anti_scale: Any, anti_offset: Any, group_list: Any,
    split: int, group_type: int,
) -> Any:  # fmt: skip
    weight = _plain(x, weight, anti_scale, anti_offset)
    return _grouped(x, weight, bias, [scale, offset], group_list, group_type, 0, split)


@kernel("aclnnGroupedMatmulV4", stepwise=True)
def grouped_matmul_v4(
    x: Any, weight: Any, bias: Any, scale: Any, offset: Any, anti_scale: Any, anti_offset: Any, token_scale: Any,
    group_list: Any, activation: Any, activation_scale: Any, activation_offset: Any, split: int, group_type: int,
    list_type: int, act: int,
) -> Any:  # fmt: skip
    more = [scale, offset, token_scale, activation, activation_scale, activation_offset]
    if act:
        raise NotEmulated("an activation behind the product is not emulated")
    weight = _plain(x, weight, anti_scale, anti_offset)
    return _grouped(x, weight, bias, more, group_list, group_type, list_type, split)


def _plain(x: Any, weight: Any, scale: Any, shift: Any) -> Any:
    """Weights of int8 as (value + shift) · scale, in the type of `x`."""
    scales, shifts = ([one for one in (many or []) if one is not None and np.size(one)] for many in (scale, shift))
    if not scales:
        return weight
    kind = x[0].dtype
    found = []
    for at, matrix in enumerate(weight):
        factor = (scales[at] if len(scales) > 1 else scales[0]).astype(kind)
        plain = matrix.astype(kind)
        if shifts:
            plain = plain + _over_rows(shifts[at] if len(shifts) > 1 else shifts[0], matrix).astype(kind)
        found.append(plain * _over_rows(factor, matrix))
    return found


def _over_rows(factors: Any, matrix: Any) -> Any:
    """One number for each column, [n], or for each column of each group, [groups, n]."""
    return factors[:, None, :] if factors.ndim == 2 and matrix.ndim == 3 else factors


def _grouped(
    x: Any, weight: Any, bias: Any, quantized: Any, group_list: Any, group_type: int, list_type: int, split: int
) -> Any:
    """Groups of rows (0), of the inner axis (2), or a product for each pair (-1)."""
    if any(one is not None and np.size(one) for many in quantized for one in (many or [])):
        raise NotEmulated("quantized inputs are not emulated")
    x, weight = ([_wide(one) for one in many] for many in (x, weight))
    bias = [_wide(one) for one in bias] if bias else bias
    if group_type == -1 or group_list is None:
        return [_plus(np.matmul(one, other), bias, at) for at, (one, other) in enumerate(zip(x, weight))]
    one = x[0]
    if group_type == 2:
        parts = _segments(group_list, one.shape[1], list_type == 1)
        return np.stack([np.matmul(one[:, a:b], weight[0][a:b]) for a, b in parts])
    matrices = list(weight[0]) if len(weight) == 1 and weight[0].ndim == 3 else weight
    parts = _segments(group_list, one.shape[0], list_type == 1)
    found = [_plus(np.matmul(one[a:b], matrices[at]), bias, at) for at, (a, b) in enumerate(parts)]
    if split in (0, 1):
        return found
    out = np.zeros((one.shape[0], matrices[0].shape[-1]), one.dtype)
    for (a, b), value in zip(parts, found):
        out[a:b] = value
    return out


def _wide(values: Any) -> Any:
    return values.astype(np.float32) if values is not None and values.dtype == np.float16 else values


def _plus(value: Any, bias: Any, at: int) -> Any:
    if not bias or bias[0] is None or not np.size(bias[0]):
        return value
    return value + (bias[at] if len(bias) > 1 else bias[0][at] if bias[0].ndim > 1 else bias[0])
