"""What the families share: the precision they compute in, gradients by differentiation, data type codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

_T = TypeVar("_T")
_ABOVE = (
    torch._C.DispatchKey.AutogradCPU,
    torch._C.DispatchKey.AutogradOther,
    torch._C.DispatchKey.ADInplaceOrView,
)

# Numbers beyond torch's own data types are those of ACL plus 256 (torch_npu.float4_e2m1fn_x2 and others).
_CODES = {
    258: "int8", 285: "int32", 287: "bfloat16", 291: "float8_e5m2", 292: "float8_e4m3fn", 293: "float8_e8m0fnu",
    296: "float4_e2m1fn_x2",
}  # fmt: skip
_FORCE = getattr(torch._C, "_ForceDispatchKeyGuard", None)
"""Torch has had it since 2.2."""


def wide(tensor: Tensor) -> Tensor:
    """At least float32: device kernels compute half precision in float32 and round once at the end."""
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()


def wide_or_none(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else wide(tensor)


def gradients(
    formula: Callable[..., Any], inputs: Sequence[Tensor | None], grads: Sequence[Tensor | None] | Tensor
) -> list[Any]:
    """The gradients of `formula(*inputs)` by torch's own differentiation, in the types of the inputs."""
    wanted = [grads] if isinstance(grads, Tensor) else list(grads)
    left = iter(_above_the_kernel(lambda: _differentiate(formula, inputs, wanted)))
    out: list[Any] = []
    for tensor in inputs:
        gradient = None if tensor is None else next(left)
        if tensor is not None:
            gradient = torch.zeros_like(tensor) if gradient is None else gradient.to(tensor.dtype)
        out.append(gradient)
    return out


def _above_the_kernel(work: Callable[[], _T]) -> _T:
    """Runs it with autograd: the kernel that we are in was called below it."""
    if _FORCE is None:
        with ThreadPoolExecutor(1) as fresh:  # a new thread is above all kernels
            return fresh.submit(work).result()
    exclude = torch._C._dispatch_tls_local_exclude_set()
    for key in _ABOVE:
        exclude = exclude.remove(key)
    with _FORCE(torch._C._dispatch_tls_local_include_set(), exclude), torch.enable_grad():
        return work()


def _differentiate(
    formula: Callable[..., Any], inputs: Sequence[Tensor | None], grads: Sequence[Tensor | None]
) -> Sequence[Tensor | None]:
    leaves = [None if t is None else wide(t.detach()).clone().requires_grad_() for t in inputs]
    results = formula(*leaves)
    results = [results] if isinstance(results, Tensor) else list(results)
    pairs = [(r, wide(g).to(r.dtype)) for r, g in zip(results, grads) if g is not None]
    found: tuple[Tensor | None, ...] = torch.autograd.grad(
        [r for r, _ in pairs],
        [t for t in leaves if t is not None],
        [g for _, g in pairs],
        allow_unused=True,
    )
    return found


def data_type(code: int | torch.dtype | None, default: torch.dtype) -> torch.dtype:
    """The torch type for a number that an operator takes as `dtype`, `dst_type` or `output_dtype`."""
    if code is None:
        return default
    if isinstance(code, torch.dtype):
        return code
    if code in _CODES:
        return _known(_CODES[code])
    return _scalar_types()[code]


def _known(name: str) -> torch.dtype:
    """The type of that name, where this torch has it."""
    found = getattr(torch, name, None)
    if found is None:
        raise NotImplementedError(f"torch {torch.__version__} has no data type {name}")
    return cast("torch.dtype", found)


def _scalar_types() -> list[torch.dtype]:
    # c10::ScalarType, in its order.
    return [
        torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32,
        torch.float64, torch.complex32, torch.complex64, torch.complex128, torch.bool, torch.qint8,
        torch.quint8, torch.qint32, torch.bfloat16, torch.quint4x2, torch.quint2x4, torch.bits1x8,
        torch.bits2x4, torch.bits4x2, torch.bits8, torch.bits16, torch.float8_e5m2, torch.float8_e4m3fn,
    ]  # fmt: skip
