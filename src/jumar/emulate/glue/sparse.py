"""Sparse tensors: torch_npu has kernels of its own for the few operators that torch does not compose.

Here they are made of operators on indices and values, which are ordinary tensors of the card.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jumar.core.compat import zip

_LIBRARY: list[Any] = []


def register() -> None:
    import torch

    if _LIBRARY:
        return
    library = torch.library.Library("aten", "IMPL")
    for name, kernel in kernels().items():
        library.impl(name, kernel, "SparsePrivateUse1")
    _LIBRARY.append(library)


def kernels() -> dict[str, Callable[..., Any]]:
    """By operator; each has a row in data/operators.toml that says why."""
    return {"_coalesce": _coalesce, "sparse_mask": _sparse_mask}


def _coalesce(sparse: Any) -> Any:
    """Each position once, in order, with the sum of its values."""
    import torch

    indices, values = sparse._indices(), sparse._values()
    sizes = sparse.shape[: sparse.sparse_dim()]
    flat = torch.zeros_like(indices[0])
    for index, size in zip(indices, sizes, strict=True):
        flat = flat * size + index
    places, inverse = torch.unique(flat, return_inverse=True)
    summed = values.new_zeros((len(places), *values.shape[1:])).index_add_(0, inverse, values)
    rows = _unravelled(places, sizes)
    return torch.sparse_coo_tensor(rows, summed, sparse.shape, check_invariants=False, is_coalesced=True)


def _unravelled(places: Any, sizes: Any) -> Any:
    """As torch.unravel_index, which is newer than 2.1."""
    import torch

    rows = []
    for size in reversed(sizes):
        rows.append(places % size)
        places = places.div(size, rounding_mode="floor")
    return torch.stack(rows[::-1])


def _sparse_mask(tensor: Any, mask: Any) -> Any:
    """The values of a tensor at the positions of a mask, zeros included."""
    import torch

    if tensor.is_sparse:
        return torch.ops.aten._sparse_mask_projection(tensor, mask)
    values = tensor[tuple(mask._indices())]
    return torch.sparse_coo_tensor(
        mask._indices(), values, mask.shape, check_invariants=False, is_coalesced=mask.is_coalesced()
    )
