"""Matrices: products that add, inverses, factors, diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from .registry import operator

operator("aclnnTrace")(np.trace)
operator("aclnnInverse")(np.linalg.inv)
operator("aclnnDiag")(np.diag)
operator("aclnnAddbmm")(lambda x, left, right, beta, alpha, math_type: beta * x + alpha * np.matmul(left, right).sum(0))
operator("aclnnAddmv")(lambda x, matrix, vector, alpha, beta, math_type: beta * x + alpha * np.matmul(matrix, vector))
operator("aclnnInplaceAddmm")(lambda x, left, right, beta, alpha, math_type: beta * x + alpha * np.matmul(left, right))
operator("aclnnInplaceAddr")(lambda x, left, right, beta, alpha: beta * x + alpha * np.outer(left, right))


@operator("aclnnLinalgQr")
def qr(x: Any, mode: int) -> Any:
    if mode == 2:  # only r
        return None, np.linalg.qr(x, "r")
    return np.linalg.qr(x, "complete" if mode == 1 else "reduced")


@operator("aclnnTriangularSolve")
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


@operator("aclnnInplaceFillDiagonal")
def fill_diagonal(x: Any, value: float, wrap: int) -> Any:
    out = np.array(x)
    np.fill_diagonal(out, value, bool(wrap))
    return out


@operator("aclnnCdist")
def distances(left: Any, right: Any, power: float, how: int) -> Any:
    apart = np.abs(left[..., :, None, :] - right[..., None, :, :])
    if power == 0:
        return (apart != 0).sum(-1)
    return apart.max(-1) if np.isinf(power) else (apart**power).sum(-1) ** (1 / power)
