"""Samples of PyTorch's databases of operators and modules, with their results and gradients, for mindspore_mint.py.

Usage: python tools/mindspore_mint_cases.py FILE SAMPLES NAMES

NAMES is a JSON file with the names that are asked for.

A case is a dictionary of plain values and numpy arrays: its name below `mint`, how it is called, what comes out. A
tensor among the arguments is an Array; its `grad` is None where none is asked for.
"""

from __future__ import annotations

import itertools
import json
import pickle
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

_MOST_ELEMENTS = 4000
_MOST_SAMPLES = 80
_DROPPED = ("device", "layout", "pin_memory", "memory_format", "requires_grad")


# Where the database calls a wrapper with another order of arguments than the function has.
_ORDER = {"where": (1, 0, 2), "einsum": (1, 0), "nn.functional.embedding": (1, 0)}


class Unusable(Exception):
    """An argument has no counterpart."""


def main(path: str, samples: int, wanted: set[str]) -> None:
    warnings.simplefilter("ignore")
    cases = [*_of_operators(samples, wanted), *_of_modules(samples, wanted), *_of_optimizers()]
    with open(path, "wb") as file:
        pickle.dump(cases, file)


def _of_operators(samples: int, wanted: set[str]) -> Iterator[dict[str, Any]]:
    for info in op_db:
        dtype = torch.float32 if torch.float32 in info.dtypes else torch.int64
        names = wanted & {info.name, *(alias.name for alias in info.aliases)}
        if dtype not in info.dtypes or not names:
            continue
        gradients = info.supports_autograd and dtype.is_floating_point
        torch.manual_seed(0)
        inputs = itertools.islice(info.sample_inputs("cpu", dtype, requires_grad=gradients), _MOST_SAMPLES)
        cases = (_case(info.op, [one.input, *one.args], one.kwargs, {}) for one in inputs)
        for at, case in _picked([case for case in cases if case], samples):
            order = _ORDER.get(info.name, range(len(case["args"])))
            case["args"] = [case["args"][one] for one in order]
            if info.name == "einsum":
                case["args"] = [case["args"][0], *case["args"][1][1]]
            for name in sorted(names):
                yield {**case, "name": name, "case": f"{name}/{info.variant_test_name}/{at}", "kind": "function"}


def _picked(cases: list[dict[str, Any]], samples: int) -> list[tuple[int, dict[str, Any]]]:
    """The first ones, and as many of the rest at equal distances: neighbours are alike."""
    rest = list(enumerate(cases))[samples:]
    step = max(len(rest) // samples, 1)
    return [*list(enumerate(cases))[:samples], *rest[::step][:samples]]


def _of_modules(samples: int, wanted: set[str]) -> Iterator[dict[str, Any]]:
    for info in module_db:
        name = f"nn.{info.module_cls.__name__}"
        if name not in wanted:
            continue
        torch.manual_seed(0)
        taken = 0
        inputs = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=True, training=True)
        for sample in inputs:
            made, given = sample.constructor_input, sample.forward_input
            if given is None:
                continue
            module = info.module_cls(*made.args, **made.kwargs)
            case = _case(module, list(given.args), given.kwargs, _constructor(made, module))
            if case:
                yield {**case, "name": name, "case": f"{name}//{taken}", "kind": "module"}
            taken += bool(case)
            if taken == samples:
                break


def _constructor(made: Any, module: torch.nn.Module) -> dict[str, Any]:
    try:
        return {
            "made": ([_plain(one) for one in made.args], _keywords(made.kwargs)),
            "parameters": {name: one.detach().numpy().copy() for name, one in module.named_parameters()},
        }
    except Unusable:
        return {"made": None}


def _of_optimizers() -> Iterator[dict[str, Any]]:
    """Some steps on a parabola."""
    for name, options in (
        ("Adam", {"lr": 0.1, "weight_decay": 0.1}),
        ("AdamW", {"lr": 0.1, "amsgrad": True}),
        ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ):
        torch.manual_seed(0)
        weight = torch.nn.Parameter(torch.randn(3, 4))
        start = weight.detach().numpy().copy()
        optimizer = getattr(torch.optim, name)([weight], **options)
        for _ in range(3):
            optimizer.zero_grad()
            (weight**2).sum().backward()
            optimizer.step()
        yield {"name": f"optim.{name}", "case": f"optim.{name}", "kind": "optimizer", "args": [start],
               "kwargs": options, "outs": [weight.detach().numpy()], "grads": []}  # fmt: skip


def _case(function: Any, args: list[Any], kwargs: dict[str, Any], more: dict[str, Any]) -> dict[str, Any] | None:
    """What one call gives; None where it cannot be handed over."""
    if more.get("made", ()) is None:
        return None
    try:
        plain, keywords = [_plain(one) for one in args], _keywords(kwargs)
        leaves = _leaves([args, list(kwargs.values())])
        outs = _tensors(function(*args, **kwargs))
        results = [one.detach().resolve_conj().resolve_neg().numpy().copy() for one in outs]
    except Exception:  # a sample of an error, or of what the CPU does not have
        return None
    if sum(one.numel() for one in [*leaves, *outs]) > _MOST_ELEMENTS or not outs:
        return None
    weights = [np.linspace(0.5, 1.5, one.numel(), dtype=np.float32).reshape(one.shape) for one in outs]
    try:
        grads = _gradients(outs, weights, leaves)
    except Exception:
        grads = None
    return {"args": plain, "kwargs": keywords, "outs": results, "weights": weights, "grads": grads, **more}


def _gradients(outs: list[Any], weights: list[Any], leaves: list[Any]) -> list[Any] | None:
    usable = [(out, torch.from_numpy(w)) for out, w in zip(outs, weights, strict=True) if out.requires_grad]
    if not usable or any(out.is_complex() for out, _ in usable) or any(leaf.is_complex() for leaf in leaves):
        return None
    total = sum((out * w).sum() for out, w in usable)
    return [one.numpy().copy() for one in torch.autograd.grad(total, leaves, materialize_grads=True)]


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [one for member in value for one in _tensors(member)]
    return []


def _leaves(value: Any) -> list[Any]:
    return [one for one in _tensors(value) if one.requires_grad]


def _keywords(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in kwargs.items() if name not in _DROPPED}


def _plain(value: Any) -> Any:
    """Tensors as ("tensor", array, whether it has a gradient), types as ("type", name)."""
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.dtype == torch.bfloat16:
            raise Unusable
        return ("tensor", value.detach().resolve_conj().numpy().copy(), value.requires_grad)
    if isinstance(value, torch.dtype):
        return ("type", str(value).removeprefix("torch."))
    if isinstance(value, (list, tuple)):
        return ("list", [_plain(one) for one in value], isinstance(value, tuple))
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise Unusable


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), set(json.loads(Path(sys.argv[3]).read_text(encoding="utf-8"))))
