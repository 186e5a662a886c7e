"""The arithmetic of a card in records: which one a run had, and a run that imitates it on another device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from jumar.compare import native
from jumar.compare.noise import changeable, keep_bits
from jumar.runtime import variables
from jumar.tables import numerics, socs
from jumar.tables.numerics import Formats


def of_process(npu: Any) -> dict[str, str]:
    """What float32 products of this process are computed with; empty where that is not known or nothing special."""
    if npu is None or (native.is_emulated() and not variables.NUMERICS.read().startswith("card")):
        return {}
    try:
        family = socs.family(variables.SOC.read() if native.is_emulated() else str(npu.npu.get_device_name(0)))
        if not family:
            return {}
        return numerics.formats(family, lambda name: (npu._C._npu_getOption(name) or b"").decode())._asdict()
    except (AttributeError, RuntimeError):  # another release of torch_npu, or no card that answers
        return {}


class Imitated:
    """Rounds the operands of float32 products as a card does, and nothing else."""

    def __init__(self, formats: Formats) -> None:
        self._formats = formats._asdict()
        self._known = numerics.operands()

    def __call__(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        name = func._schema.name
        kind, names = self._known.get(name, ("", ()))
        form = self._formats.get(kind, "float32")
        if form == "float32":
            return func(*args, **kwargs)
        given = dict(zip((one.name for one in func._schema.arguments), args))
        changed = {key: _rounded(value, form) if key in names else value for key, value in {**given, **kwargs}.items()}
        done = func(*(changed[key] for key in given), **{key: changed[key] for key in kwargs})
        if name == "aten::convolution_backward" and done[2] is not None:
            grad = given["grad_output"]
            done[2].copy_(grad.sum([0, *range(2, grad.dim())]))  # a sum and no product
        return done


def _rounded(value: Any, form: str) -> Any:
    if not changeable(value) or value.dtype is not torch.float32:
        return value
    return keep_bits(value, 11) if form == "hf32" else value.to(torch.float16).to(torch.float32)
