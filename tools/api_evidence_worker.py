"""Runs an API of torch on the emulated card, for refresh_api_evidence.py."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import islice
from typing import Any

Program = Callable[[], Any]
_FALLBACK = b"will fall back to run on the CPU"
_SAMPLES = 3
_TYPES = ("float32", "int64", "bool", "complex64")


def run(name: str, log: str) -> None:
    """Writes one line; never returns."""
    output = os.open(f"{log}.out", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    with open(log, "a", encoding="utf-8", buffering=1) as lines:
        lines.write(json.dumps({"name": name, **outcome(name, output)}) + "\n")
    os._exit(0)


def outcome(name: str, output: int) -> dict[str, str]:
    """`ran`, `fell back` (it ran, on the CPU), `refused` by the emulator, `failed`, or `no program`.

    torch_npu writes its warning about the CPU to the standard error, once for each operator of a process.
    """
    before, programs = os.fstat(output).st_size, []
    try:
        for program in programs_for(name):
            programs.append(program)
            _backward(program())
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return {"state": "refused" if "jumar emulate" in text else "failed", "detail": _words(text)}
    if not programs:
        return {"state": "no program"}
    said = os.pread(output, os.fstat(output).st_size - before, before)
    return {"state": "fell back" if _FALLBACK in said else "ran"}


def _words(text: str) -> str:
    """The error's own words, without torch_npu's time and process number."""
    return re.split(r" ?\[ERROR\] ", text)[0][:160]


def has_program(name: str) -> bool:
    import api_programs

    return name in api_programs.PROGRAMS or name in operators() or name in _layers()


def programs_for(name: str) -> Iterator[Program]:
    """The program written for it; else samples of PyTorch's databases of operators and layers."""
    import api_programs

    if name in api_programs.PROGRAMS:
        yield api_programs.PROGRAMS[name]
        return
    if (found := operators().get(name)) is not None:
        op, call = found
        for sample in islice(_samples(op, call), _SAMPLES):
            yield partial(_call, call, sample.transform(_to_card))
    elif (layer := _layers().get(name)) is not None:
        yield from islice(_layer_calls(layer), _SAMPLES)


def _backward(result: Any) -> None:
    import torch
    from torch.utils import _pytree

    leaves = [leaf for leaf in _pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    if leaves and all(leaf.is_floating_point() and leaf.layout is torch.strided for leaf in leaves):
        torch.autograd.backward([leaf.sum() for leaf in leaves])


@cache
def operators() -> dict[str, tuple[Any, Callable[..., Any]]]:
    """The database's operators by the names under which people call them, methods and aliases too."""
    from torch.testing._internal.common_methods_invocations import op_db

    found: dict[str, tuple[Any, Callable[..., Any]]] = {}
    for op in op_db:
        if op.variant_test_name:
            continue
        for form in (op, *op.aliases):
            if _is_public(form.name):
                found.setdefault(f"torch.{form.name}", (op, form.op))
            for method in (form.method_variant, form.inplace_variant):
                word = getattr(method, "__name__", "_")
                if not word.startswith("_"):
                    found.setdefault(f"Tensor.{word}", (op, method))
    return found


def _is_public(name: str) -> bool:
    """Is it really a function of torch? The database also holds inner ones, and methods."""
    import torch

    at: Any = torch
    for word in name.split("."):
        at = getattr(at, word, None) if not word.startswith("_") else None
    return callable(at)


@cache
def _layers() -> dict[str, Any]:
    from torch.testing._internal.common_modules import module_db

    return {f"torch.nn.{info.module_cls.__name__}": info for info in module_db}


def _samples(op: Any, call: Callable[..., Any]) -> Iterator[Any]:
    """Samples on the CPU, where the database makes them, that work there with this form of the operator."""
    import torch

    known = op.supported_dtypes("cpu")
    dtype = next((found for name in _TYPES if (found := getattr(torch, name)) in known), None)
    if dtype is None:
        return
    grad = bool(op.supports_autograd and dtype in op.supported_backward_dtypes("cpu"))
    for sample in op.sample_inputs("cpu", dtype, requires_grad=grad):
        with contextlib.suppress(Exception):
            _backward(_call(call, copy.deepcopy(sample)))
            yield sample


def _call(call: Callable[..., Any], sample: Any) -> Any:
    import torch

    given = sample.input
    if getattr(call, "__name__", "").endswith("_") and isinstance(given, torch.Tensor) and given.requires_grad:
        given = given.clone()
    return call(given, *sample.args, **sample.kwargs)


def _layer_calls(info: Any) -> Iterator[Program]:
    import torch

    for training in (True, False):
        for made in islice(info.module_inputs_func(info, "cpu", torch.float32, False, training), _SAMPLES):
            if made.forward_input is not None:
                yield partial(_run_layer, info.module_cls, copy.deepcopy(made), training)


def _run_layer(kind: type, made: Any, training: bool) -> Any:
    from torch.utils import _pytree

    args, kwargs = made.constructor_input.args, made.constructor_input.kwargs
    layer = kind(*args, **kwargs).to("npu").train(training)
    given = _pytree.tree_map(_to_card, (made.forward_input.args, made.forward_input.kwargs))
    return layer(*given[0], **given[1])


def _to_card(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        moved = value.detach().npu() if value.requires_grad else value.npu()
        return moved.requires_grad_(value.requires_grad)
    return torch.device("npu:0") if isinstance(value, torch.device) and value.type == "cpu" else value
