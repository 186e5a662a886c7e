"""Products of reflections, LU factors and triangular systems."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import operator


def _by_rows(run: Any, *given: Any) -> Any:
    """`run` on the matrices of a batch: the axes in front of the last two (the last one of a vector of numbers)."""
    cores = [2 if matrix else 1 for _, matrix in given]
    batch = np.broadcast_shapes(*(x.shape[: x.ndim - core] for (x, _), core in zip(given, cores)))
    parts = [np.broadcast_to(x, batch + x.shape[x.ndim - core :]) for (x, _), core in zip(given, cores)]
    flat = [part.reshape(-1, *part.shape[len(batch) :]) for part in parts]
    found = [run(*row) for row in zip(*flat)]
    return np.stack(found).reshape(*batch, *found[0].shape) if found else np.zeros((*batch, 0, 0))


@operator("Orgqr")
def reflections(matrix: Any, scales: Any) -> Any:
    """The first columns of the product of I - tau · v · vᴴ; v stands below the diagonal and begins with 1."""

    def product(x: Any, tau: Any) -> Any:
        out = np.eye(*x.shape, dtype=x.dtype)
        for at in range(len(tau) - 1, -1, -1):
            v = np.concatenate([np.zeros(at, x.dtype), np.ones(1, x.dtype), x[at + 1 :, at]])
            out = out - tau[at] * np.outer(v, np.conj(v) @ out)
        return out

    return _by_rows(product, (matrix, True), (scales, False))


def _order(pivots: Any, size: int) -> Any:
    """Rows after the exchanges that pivots, which count from 1, stand for."""
    order = np.arange(size)
    for at, other in enumerate(pivots):
        order[[at, other - 1]] = order[[other - 1, at]]
    return order


@operator("LuSolve")
def solve(right: Any, both: Any, pivots: Any) -> Any:
    def one(right: Any, both: Any, pivots: Any) -> Any:
        size = both.shape[-1]
        lower = np.tril(both, -1) + np.eye(size, dtype=both.dtype)
        return np.linalg.solve(np.triu(both), np.linalg.solve(lower, right[_order(pivots, size)]))

    return _by_rows(one, (right, True), (both, True), (pivots, False))


@operator("LuUnpack")
def unpack(factors: Any, exchanges: Any, *, unpack_pivots: bool = True, unpack_data: bool = True) -> Any:
    both, pivots = factors, exchanges
    rows, columns = both.shape[-2:]
    inner = min(rows, columns)

    def permutation(row: Any) -> Any:
        return np.eye(rows, dtype=both.dtype)[:, _order(row, rows)]

    lower = np.tril(both[..., :, :inner], -1) + np.eye(rows, inner, dtype=both.dtype)
    return (
        _by_rows(permutation, (pivots, False)) if unpack_pivots else None,
        lower if unpack_data else None,
        np.triu(both[..., :inner, :]) if unpack_data else None,
    )


@operator("LuUnpackGrad")
def unpack_backward(grad_lower: Any, grad_upper: Any, outputs: Any) -> Any:
    """Each of the two gradients in the room of both factors."""
    found: list[Any] = []
    parts: list[Any] = [lambda x: np.tril(x, -1), np.triu]
    for grad, part, place in zip((grad_lower, grad_upper), parts, outputs):
        if place is None:
            found.append(None)
            continue
        room = np.zeros(place.shape, grad.dtype)
        room[..., : grad.shape[-2], : grad.shape[-1]] = part(grad)
        found.append(room)
    return found


@operator("SolveTriangularGrad")
def triangular_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Gradients for the matrix and for the right side of a triangular system."""
    matrix, x, grad = inputs[:3]
    turned, lower, unit = (int(np.reshape(one, -1)[0]) for one in inputs[3:6])
    part = np.tril if lower else np.triu
    whole = part(matrix)
    if unit:
        whole = part(matrix, -1 if lower else 1) + np.eye(matrix.shape[-1], dtype=matrix.dtype)
    vector = x.ndim == matrix.ndim - 1
    columns, slopes = (one[..., None] if vector else one for one in (x, grad))
    used = np.swapaxes(whole, -1, -2) if turned else whole
    used = np.conj(used) if turned == _CONJUGATED else used
    right = np.linalg.solve(np.conj(np.swapaxes(used, -1, -2)), slopes)
    outer = -right @ np.conj(np.swapaxes(columns, -1, -2))
    outer = np.swapaxes(outer, -1, -2) if turned else outer
    outer = np.conj(outer) if turned == _CONJUGATED else outer
    to_matrix = part(outer, (-1 if lower else 1) if unit else 0)
    return to_matrix, right[..., 0] if vector else right


_CONJUGATED = 2


def _slope(far: Any, distance: Any, power: float) -> Any:
    """What a distance of this power changes by, along each coordinate."""
    size = np.abs(far)
    if power == 0:
        return np.zeros_like(far)
    if power == 1:
        return np.sign(far)
    if np.isinf(power):
        return np.sign(far) * (size == distance)
    with np.errstate(all="ignore"):
        found = np.sign(far) * (size / distance) ** (power - 1)
    return np.where(distance == 0, 0, found)


@operator("CdistGrad")
def distances_backward(grad: Any, x: Any, other: Any, distance: Any, *, p: Any = 2.0, outputs: Any) -> Any:
    """Graphs of MindSpore repeat all inputs for every pair of points [.., P, R, M] before."""
    if x.ndim == len(outputs[0].shape):
        x, other, grad, distance = x[..., :, None, :], other[..., None, :, :], grad[..., None], distance[..., None]
    return (grad * _slope(x - other, distance, p)).sum(-2)


@operator("PdistGrad")
def pairs_backward(grad: Any, x: Any, distance: Any, *, p: Any = 2.0) -> Any:
    first, second = np.triu_indices(x.shape[0], 1)
    far = x[first] - x[second]
    part = grad[:, None] * _slope(far, distance[:, None], p)
    out = np.zeros_like(x)
    np.add.at(out, first, part)
    np.subtract.at(out, second, part)
    return out


@operator("LstsqV2")
def least_squares(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """The solution, the squares that are left, the rank, and the singular values; some drivers give less."""
    matrix, right = (np.asarray(one) for one in inputs[:2])
    plain = right.ndim == matrix.ndim - 1
    right = right[..., None] if plain else right
    found = np.matmul(np.linalg.pinv(matrix), right)
    left = (np.abs(right - matrix @ found) ** 2).sum(-2)
    results = [found[..., 0] if plain else found, left, np.linalg.matrix_rank(matrix), None]
    results[3] = np.linalg.svd(matrix, compute_uv=False)
    return tuple(None if not place.size else one for one, place in zip(results, outputs))


@operator("LstsqV2Grad")
def least_squares_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """For the matrix and the right side, from the derivative of the inverse that the solution is made with."""
    grad, matrix, right = (np.asarray(one) for one in inputs[:3])
    plain = right.ndim == matrix.ndim - 1
    grad, right = (one[..., None] if plain else one for one in (grad, right))

    def turned(one: Any) -> Any:
        return one.swapaxes(-1, -2)

    inverse = np.linalg.pinv(matrix)
    slope = grad @ turned(right)
    rest = np.eye(matrix.shape[-2]) - matrix @ inverse
    null = np.eye(matrix.shape[-1]) - inverse @ matrix
    to_matrix = (
        -turned(inverse) @ slope @ turned(inverse)
        + rest @ turned(slope) @ inverse @ turned(inverse)
        + turned(inverse) @ inverse @ turned(slope) @ null
    )
    to_right = turned(inverse) @ grad
    return to_matrix, to_right[..., 0] if plain else to_right


@operator("Pdist")
def pairs(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """The distances of all pairs of rows."""
    x, power = inputs[0], float(attributes.get("p", 2.0))
    first, second = np.triu_indices(x.shape[-2], 1)
    size = np.abs(x[..., first, :] - x[..., second, :])
    if power == 0:
        return (size != 0).sum(-1)
    return size.max(-1, initial=0) if np.isinf(power) else (size**power).sum(-1) ** (1 / power)
