"""Matrices: inverses, factors, determinants, bands and diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from .registry import operator


def _transposed(x: Any, wanted: Any) -> Any:
    return np.conj(x.swapaxes(-1, -2)) if wanted else x


@operator("MatrixInverse")
def inverse(x: Any, *, adjoint: bool = False) -> Any:
    return np.linalg.inv(_transposed(x, adjoint))


@operator("Cholesky")
def cholesky(x: Any, *, upper: bool = False) -> Any:
    found = np.linalg.cholesky(x)
    return _transposed(found, upper)


@operator("CholeskyGrad")
def cholesky_backward(lower: Any, grad: Any) -> Any:
    """Inputs: the lower factor, and its gradient."""
    factor = np.tril(lower).astype(np.float64)
    inner = np.tril(factor.swapaxes(-1, -2) @ grad)
    inner = inner - 0.5 * inner * np.eye(factor.shape[-1])
    inverse = np.linalg.inv(factor)
    found = inverse.swapaxes(-1, -2) @ inner @ inverse
    return 0.5 * (found + found.swapaxes(-1, -2))


@operator("CholeskyInverse")
def cholesky_inverse(x: Any, *, upper: bool = False) -> Any:
    factor = _transposed(x, upper)
    return np.linalg.inv(factor @ _transposed(factor, True))


@operator("CholeskySolve")
def cholesky_solve(right: Any, triangle: Any, *, upper: bool = False) -> Any:
    factor = _transposed(triangle, upper)
    return np.linalg.solve(factor @ _transposed(factor, True), right)


@operator("MatrixDeterminant")
def determinant(x: Any) -> Any:
    return np.linalg.det(x)


@operator("LogMatrixDeterminant")
def log_determinant(x: Any) -> Any:
    return np.linalg.slogdet(x)


@operator("MatrixSolve")
def solve(matrix: Any, right: Any, *, adjoint: bool = False) -> Any:
    return np.linalg.solve(_transposed(matrix, adjoint), right)


@operator("MatrixTriangularSolve")
def triangular(matrix: Any, right: Any, *, lower: bool = True, adjoint: bool = False) -> Any:
    part = np.tril if lower else np.triu
    return np.linalg.solve(_transposed(part(matrix), adjoint), right)


@operator("SolveTriangular")
def solve_triangular(inputs: Any, attributes: Any, outputs: Any) -> Any:
    options = inputs[2:]
    trans, lower, unit = (int(np.reshape(one, -1)[0]) for one in options) if len(options) == 3 else (0, 0, 0)
    matrix = (np.tril if lower else np.triu)(inputs[0], 0)
    if unit:
        matrix = matrix - matrix * np.eye(matrix.shape[-1]) + np.eye(matrix.shape[-1])
    return np.linalg.solve(_transposed(matrix, trans), inputs[1])


@operator("MatrixExp")
def exponential(x: Any) -> Any:
    rows = x.reshape(-1, *x.shape[-2:])
    return np.stack([linalg.expm(row) for row in rows]).reshape(x.shape)


@operator("MatrixLogarithm")
def logarithm(x: Any) -> Any:
    rows = x.reshape(-1, *x.shape[-2:])
    return np.stack([linalg.logm(row) for row in rows]).reshape(x.shape)


@operator("Svd")
def svd(x: Any, *, compute_uv: bool = True, full_matrices: bool = False) -> Any:
    if not compute_uv:
        return np.linalg.svd(x, compute_uv=False), None, None
    u, s, v = np.linalg.svd(x, full_matrices=bool(full_matrices))
    return s, u, _transposed(v, True)


@operator("Qr")
def qr(x: Any, *, full_matrices: bool = False) -> Any:
    return tuple(np.linalg.qr(x, "complete" if full_matrices else "reduced"))


@operator("Eig")
def eig(x: Any, *, compute_v: bool = False) -> Any:
    values, vectors = np.linalg.eig(x)
    return values, vectors if compute_v else None


@operator("Eigh")
def eigh(inputs: Any, attributes: Any, outputs: Any) -> Any:
    values, vectors = np.linalg.eigh(inputs[0], "L" if attributes.get("lower", 1) else "U")
    return values, vectors if attributes.get("compute_eigenvectors", attributes.get("compute_v", 1)) else None


@operator("MatrixBandPart")
def band(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x, lower, upper = inputs[0], *(int(np.reshape(one, -1)[0]) for one in inputs[1:3])
    far = np.arange(x.shape[-1]) - np.arange(x.shape[-2])[:, None]
    keep = ((lower < 0) | (-far <= lower)) & ((upper < 0) | (far <= upper))
    return np.where(keep, x, 0)


@operator("MatrixDiag")
def diagonal_matrix(diagonal: Any) -> Any:
    return diagonal[..., None] * np.eye(diagonal.shape[-1], dtype=diagonal.dtype)


@operator("MatrixDiagPart", "DiagPart")
def diagonal_part(x: Any, outputs: Any) -> Any:
    if x.ndim == 2 or outputs[0].shape == (*x.shape[:-2], min(x.shape[-2:])):
        return np.diagonal(x, axis1=-2, axis2=-1)
    size = int(np.prod(outputs[0].shape))
    return np.diagonal(x.reshape(size, size)).reshape(outputs[0].shape)


@operator("MatrixSetDiag")
def set_diagonal(matrix: Any, values: Any) -> Any:
    x = np.array(matrix)
    at = np.arange(min(x.shape[-2:]))
    x[..., at, at] = values
    return x


@operator("Diagonal")
def diagonal(inputs: Any, attributes: Any, outputs: Any) -> Any:
    options = (("offset", 0), ("dim1", 0), ("dim2", 1))
    return np.diagonal(inputs[0], *(int(attributes.get(name, missing)) for name, missing in options))


@operator("Trace")
def trace(x: Any) -> Any:
    return np.trace(x)


@operator("TraceGrad")
def trace_backward(grad: Any, outputs: Any) -> Any:
    return np.eye(*outputs[0].shape) * grad


@operator("TraceV2")
def trace_along(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Inputs: the tensor, the offset, two axes, and the type, which the output has."""
    offset, first, second = (int(np.reshape(inputs[at], -1)[0]) for at in (1, 2, 3))
    return np.trace(inputs[0].astype(outputs[0].dtype), offset, first, second)


@operator("TraceV2Grad")
def trace_along_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Inputs: the gradient, the shape, the offset and two axes."""
    offset, first, second = (int(np.reshape(inputs[at], -1)[0]) for at in (2, 3, 4))
    out = np.zeros(outputs[0].shape, outputs[0].dtype)
    plane = np.moveaxis(out, (first, second), (-2, -1))
    plane[...] = np.eye(*plane.shape[-2:], offset) * np.asarray(inputs[0])[..., None, None]
    return out


@operator("Eye")
def eye(outputs: Any) -> Any:
    return np.broadcast_to(np.eye(*outputs[0].shape[-2:]), outputs[0].shape)


for _name, _where in (("TrilIndices", np.tril_indices), ("TriuIndices", np.triu_indices)):

    @operator(_name)
    def triangle(inputs: Any, attributes: Any, outputs: Any, where: Any = _where) -> Any:
        return np.stack(where(int(attributes["row"]), int(attributes.get("offset", 0)), int(attributes["col"])))


@operator("Cdist")
def distances(left: Any, right: Any, *, p: Any = 2.0) -> Any:
    apart = np.abs(left[..., :, None, :] - right[..., None, :, :])
    power = p
    if power == 0:
        return (apart != 0).sum(-1)
    return apart.max(-1) if np.isinf(power) else (apart**power).sum(-1) ** (1 / power)


def _diagonals(k: Any) -> tuple[int, int]:
    k = np.reshape(k, -1)
    return int(k[0]), int(k[-1])


def _cells(rows: int, columns: int, low: int, high: int, align: str) -> Any:
    """For each diagonal from the highest: its row in the packed form, and the places of its elements there and here."""
    width = max(min(rows + min(d, 0), columns - max(d, 0)) for d in range(low, high + 1))
    upper, lower = (align or "RIGHT_LEFT").split("_")
    for number, d in enumerate(range(high, low - 1, -1)):
        length = min(rows + min(d, 0), columns - max(d, 0))
        right = (upper if d >= 0 else lower) == "RIGHT" and length < width
        at = np.arange(length)
        yield number, at + (width - length if right else 0), at + max(-d, 0), at + max(d, 0), width


@operator("MatrixDiagPartV3")
def diagonal_part_v3(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x, (low, high), fill = inputs[0], _diagonals(inputs[1]), np.reshape(inputs[2], -1)[0]
    parts = []
    for _number, places, rows, columns, width in _cells(*x.shape[-2:], low, high, attributes.get("align", "")):
        row = np.full((*x.shape[:-2], width), fill, x.dtype)
        row[..., places] = x[..., rows, columns]
        parts.append(row)
    return parts[0] if low == high else np.stack(parts, -2)


@operator("MatrixDiagV3", "MatrixSetDiagV3")
def set_diagonal_v3(inputs: Any, attributes: Any, outputs: Any) -> Any:
    if len(inputs) == 3:
        out, packed, (low, high) = np.array(inputs[0]), inputs[1], _diagonals(inputs[2])
    else:
        packed, (low, high) = inputs[0], _diagonals(inputs[1])
        out = np.full(outputs[0].shape, np.reshape(inputs[4], -1)[0], packed.dtype)
    packed = packed[..., None, :] if low == high else packed
    for number, places, rows, columns, _width in _cells(*out.shape[-2:], low, high, attributes.get("align", "")):
        out[..., rows, columns] = packed[..., number, :][..., places]
    return out


@operator("Geqrf")
def reflections(x: Any) -> Any:
    rows = x.reshape(-1, *x.shape[-2:])
    found = [linalg.qr(row, mode="raw")[0] for row in rows]
    factors = np.stack([one[0] for one in found]).reshape(x.shape)
    return factors, np.stack([one[1] for one in found]).reshape(*x.shape[:-2], -1)
