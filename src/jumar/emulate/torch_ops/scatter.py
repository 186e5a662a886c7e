"""Writing rows into larger tensors: scatter, scatter_nd_update, lists; gathers and their gradients."""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.registry import operator


@operator()
def npu_scatter(input: Tensor, indices: Tensor, updates: Tensor, dim: int) -> Tensor:
    out = input.clone()
    index = indices.long()
    if index.dim() < out.dim():
        index = index.unsqueeze(dim)
        updates = updates.unsqueeze(dim)
    return out.scatter_(dim, index, updates)


@operator()
def npu_scatter_nd_update(input: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    return npu_scatter_nd_update_(input.clone(), indices, updates)


@operator()
def npu_scatter_nd_update_(input: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Each row of `indices` names a place (or a whole part) of the input."""
    depth = indices.shape[-1]
    places = tuple(indices.reshape(-1, depth).long().unbind(1))
    input[places] = updates.reshape(-1, *input.shape[depth:]).to(input.dtype)
    return input


@operator()
def scatter_update(input: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    return scatter_update_(input.clone(), indices, updates, axis)


@operator()
def scatter_update_(input: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    """Per batch, puts the rows of `updates` along `axis` from the place given for that batch."""
    axis %= input.dim()
    for batch, place in enumerate(indices.reshape(-1).tolist()):
        length = updates.shape[axis]
        input[batch].narrow(axis - 1, place, length).copy_(updates[batch])
    return input


@operator()
def npu_scatter_list(
    input: list[Tensor],
    indices: Tensor,
    updates: Tensor,
    mask: Tensor | None = None,
    reduce: str = "update",
    axis: int = -2,
) -> list[Tensor]:
    copies = [t.clone() for t in input]
    npu_scatter_list_(copies, indices, updates, mask, reduce, axis)
    return copies


@operator()
def npu_scatter_list_(
    input: list[Tensor],
    indices: Tensor,
    updates: Tensor,
    mask: Tensor | None = None,
    reduce: str = "update",
    axis: int = -2,
) -> None:
    for i, target in enumerate(input):
        if mask is not None and not bool(mask[i]):
            continue
        part = updates[i]
        start, length = (int(indices[i]), None) if indices.dim() == 1 else (int(indices[i, 0]), int(indices[i, 1]))
        dim = axis % part.dim() if axis < 0 else axis - 1 if part.dim() < updates.dim() and axis > 0 else axis
        length = part.shape[dim] if length is None else length
        target.narrow(dim, start, length).copy_(part.narrow(dim, 0, length))


@operator()
def npu_gather_backward(grad: Tensor, self_size: list[int], dim: int, index: Tensor, sparse_grad: bool) -> Tensor:
    zeros = torch.zeros(self_size, dtype=grad.dtype)
    if index.numel() == 0:
        return zeros
    return zeros.scatter_add(dim, index, grad)


@operator()
def npu_gather_sparse_index(input: Tensor, index: Tensor) -> Tensor:
    return input[index.long()]


@operator()
def npu_gather_sparse_index_backward(grad: Tensor, self_sizes: list[int], index: Tensor) -> Tensor:
    out = torch.zeros(self_sizes, dtype=grad.dtype)
    return out.index_put_((index.long(),), grad, accumulate=True)


@operator()
def _npu_index_add(input: Tensor, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    return input.clone().index_put_((index.long(),), source * alpha, accumulate=True)


@operator()
def repeat_interleave_backward_int(grad: Tensor, input: Tensor, repeats: int, dim: int | None = None) -> Tensor:
    return repeat_interleave_backward_tensor(grad, input, torch.tensor([repeats]), dim)


@operator()
def repeat_interleave_backward_tensor(grad: Tensor, input: Tensor, repeats: Tensor, dim: int | None = None) -> Tensor:
    along = 0 if dim is None else dim
    source = input.reshape(-1) if dim is None else input
    counts = repeats.long().expand(source.shape[along]) if repeats.numel() == 1 else repeats.long()
    owner = torch.arange(source.shape[along]).repeat_interleave(counts)
    total = torch.zeros(source.shape, dtype=wide(grad).dtype).index_add_(along, owner, wide(grad))
    return total.view(input.shape).to(grad.dtype)
