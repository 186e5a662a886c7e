"""Runs the samples of one operator of PyTorch's database on the CPU and on the emulated card, for opinfo.py."""

from __future__ import annotations

import copy
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from unittest import mock

_FALLBACK = "will fall back to run on the CPU"
_WORDS = ("equal", "rounded", "unordered", "fallback", "vendor", "close", "differs", "error", "refused")


def run(name: str, variant: str, dtypes: list[str], samples: int, log: str) -> None:
    """Writes a line per dtype and kind of call (forward, backward, in place, out=); never returns."""
    output = os.open(f"{log}.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    with open(log, "a", encoding="utf-8", buffering=1) as lines:
        for row in rows(name, variant, dtypes, samples):
            lines.write(json.dumps(row) + "\n")
    sys.stdout.flush()
    os._exit(0)


@cache
def database() -> dict[tuple[str, str], Any]:
    from torch.testing._internal.common_methods_invocations import op_db

    return {(op.name, op.variant_test_name): op for op in op_db}


def rows(name: str, variant: str, dtypes: list[str], samples: int) -> Iterator[dict[str, str]]:
    """One record per dtype and kind: `state` is the worst that happened with any sample."""
    import torch

    op = database()[name, variant]
    warnings.simplefilter("always")
    for dtype in sorted(op.supported_dtypes("cpu"), key=str):
        short = str(dtype).removeprefix("torch.")
        if dtypes and short not in dtypes:
            continue
        for kind in ("forward", "backward", "inplace", "out"):
            if not _has(op, kind, dtype):
                continue
            yield {"op": name, "variant": variant, "dtype": short, "kind": kind, "state": "started"}
            torch.manual_seed(0)
            state, detail = _worst(op, kind, dtype, samples)
            yield {
                "op": name, "variant": variant, "dtype": short, "kind": kind, "state": state, "detail": detail,
            }  # fmt: skip


def _has(op: Any, kind: str, dtype: Any) -> bool:
    if kind == "backward":
        return bool(op.supports_autograd and dtype in op.supported_backward_dtypes("cpu"))
    if kind == "inplace":
        return op.inplace_variant is not None
    return bool(op.supports_out) if kind == "out" else True


def _worst(op: Any, kind: str, dtype: Any, samples: int) -> tuple[str, str]:
    import itertools

    worst, said = "equal", ""
    inputs = op.sample_inputs("cpu", dtype, requires_grad=kind == "backward")
    try:
        for sample in itertools.islice(inputs, samples):
            state, detail = _compare(_CALLS[kind], op, sample)
            if _WORDS.index(state) > _WORDS.index(worst):
                worst, said = state, detail
    except Exception as error:  # the sample itself cannot be made
        return "error", f"samples: {error}"[:300]
    return worst, said


def _compare(call: Callable[[Any, Any], Any], op: Any, sample: Any) -> tuple[str, str]:
    import torch

    before = torch.get_rng_state()
    # The database seeds inside the call where an operator draws random numbers, and puts the state back.
    with mock.patch("torch.manual_seed", wraps=torch.manual_seed) as seed:
        wanted = _attempt(call, op, copy.deepcopy(sample))
    drawn = seed.called or not torch.equal(before, torch.get_rng_state())
    again = _attempt(call, op, copy.deepcopy(sample))
    moved = copy.deepcopy(sample).transform(_to_npu)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        got = _attempt(call, op, moved)
    fell_back = any(_FALLBACK in str(warning.message) for warning in caught)
    if isinstance(wanted, Exception) and isinstance(got, Exception):
        return "equal", ""
    if isinstance(wanted, Exception):
        return "equal", ""  # torch_npu may allow what the CPU's front refuses
    if isinstance(got, Exception):
        text = f"{type(got).__name__}: {got}"
        vendor = any(words in text for words in _refusals())
        return ("vendor" if vendor else "refused" if "jumar" in text else "error"), text[:400]
    ours = [item.detach().cpu() if isinstance(item, torch.Tensor) else item for item in got]
    state, detail = _difference(wanted, ours)
    if state == "equal":
        return ("fallback" if fell_back else "equal"), ""
    if drawn or _difference(wanted, again)[0] != "equal":
        alike = list(map(_form, wanted)) == list(map(_form, ours))
        return ("unordered", "") if alike else ("differs", "number or shapes of results")
    if _is_half(sample) and _rounded_once(call, op, sample, wanted, ours):
        return "rounded", ""
    return state, detail


@cache
def _refusals() -> tuple[str, ...]:
    """The words in which torch_npu's own code refuses a data type (data/operators.toml)."""
    from jumar.tables import operators

    return tuple(row.refusal.partition("{}")[0] for row in operators.rows() if row.refusal)


def _form(item: Any) -> Any:
    import torch

    return (item.shape, item.dtype, item.layout) if isinstance(item, torch.Tensor) else type(item)


def _is_half(sample: Any) -> bool:
    import torch
    from torch.utils import _pytree

    leaves = _pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
    return any(isinstance(item, torch.Tensor) and item.dtype in (torch.half, torch.bfloat16) for item in leaves)


def _rounded_once(call: Callable[[Any, Any], Any], op: Any, sample: Any, wanted: list[Any], ours: list[Any]) -> bool:
    """Whether the card's answer is that of the CPU in float32, rounded at the end."""
    import torch

    wide = _attempt(call, op, copy.deepcopy(sample).transform(_widen))
    if isinstance(wide, Exception) or len(wide) != len(wanted):
        return False
    rounded = [
        item.to(like.dtype) if isinstance(item, torch.Tensor) and isinstance(like, torch.Tensor) else item
        for item, like in zip(wide, wanted, strict=True)
    ]
    return _difference(rounded, ours)[0] == "equal"


def _widen(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor) and value.dtype in (torch.half, torch.bfloat16):
        return value.detach().float().requires_grad_(value.requires_grad)
    return torch.float if value in (torch.half, torch.bfloat16) and isinstance(value, torch.dtype) else value


def _attempt(call: Callable[[Any, Any], Any], op: Any, sample: Any) -> Any:
    from torch.utils import _pytree

    try:
        return _pytree.tree_leaves(call(op, sample))
    except Exception as error:
        return error


def _difference(wanted: list[Any], ours: list[Any]) -> tuple[str, str]:
    import torch

    if len(wanted) != len(ours):
        return "differs", f"{len(wanted)} results, {len(ours)} on the card"
    worst, said = "equal", ""
    for one, other in zip(wanted, ours, strict=True):
        if not isinstance(one, torch.Tensor):
            if type(one) is type(other) and (one == other or (one != one and other != other)):
                continue
            return "differs", f"{one!r} and {other!r}"[:200]
        if one.shape != other.shape or one.dtype != other.dtype or one.layout != other.layout:
            return (
                "differs",
                f"{one.dtype} {tuple(one.shape)}, on the card {other.dtype} {tuple(other.shape)}",
            )
        if _bits_equal(one.detach(), other):
            continue
        if one.layout != torch.strided or not torch.allclose(one.detach(), other, 1e-3, 1e-5, equal_nan=True):
            return "differs", f"{one!s}"[:150] + " / " + f"{other!s}"[:150]
        worst, said = "close", ""
    return worst, said


def _bits_equal(one: Any, other: Any) -> bool:
    import torch

    if one.layout != torch.strided:
        one, other = one.to_dense(), other.to_dense()
    if one.is_quantized:
        return bool(torch.equal(one, other))
    if one.is_complex():
        one, other = torch.view_as_real(one.resolve_conj()), torch.view_as_real(other.resolve_conj())
    one, other = one.resolve_neg(), other.resolve_neg()
    if one.dtype.is_floating_point:
        nan = torch.isnan(one)
        return bool(torch.equal(nan, torch.isnan(other)) and torch.equal(one[~nan], other[~nan]))
    return bool(torch.equal(one, other))


def _to_npu(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        moved = value.detach().npu() if value.requires_grad else value.npu()
        return moved.requires_grad_(value.requires_grad)
    if isinstance(value, torch.device) and value.type == "cpu":
        return torch.device("npu:0")
    return value


def _forward(op: Any, sample: Any) -> Any:
    return op(sample.input, *sample.args, **sample.kwargs)


def _inplace(op: Any, sample: Any) -> Any:
    return op.inplace_variant(sample.input, *sample.args, **sample.kwargs), sample.input


def _out(op: Any, sample: Any) -> Any:
    import torch

    expected = _forward(op, copy.deepcopy(sample))
    if isinstance(expected, torch.Tensor):
        out: Any = torch.empty_like(expected)
    else:
        out = tuple(torch.empty_like(item) for item in expected)
    return op(sample.input, *sample.args, **sample.kwargs, out=out)


def _backward(op: Any, sample: Any) -> Any:
    import torch
    from torch.utils import _pytree

    leaves = [
        item
        for item in _pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
        if isinstance(item, torch.Tensor) and item.requires_grad
    ]
    results = _forward(op, sample)
    if sample.output_process_fn_grad is not None:
        results = sample.output_process_fn_grad(results)
    results = [item for item in _pytree.tree_leaves(results) if isinstance(item, torch.Tensor) and item.requires_grad]
    generator = torch.Generator().manual_seed(1)
    # Eighths are exact in every type, so that the same sample in a wider type gets the same weights.
    weights = [(torch.randint(-16, 17, item.shape, generator=generator) / 8).to(item) for item in results]
    if not leaves or not results:
        return []
    return torch.autograd.grad(results, leaves, weights, allow_unused=True)


_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "forward": _forward,
    "backward": _backward,
    "inplace": _inplace,
    "out": _out,
}
