"""Hands the rules to the glue before it takes the operators over, and follows torch_npu's switches from then on."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from jumar.emulate.numerics import mode
from jumar.emulate.numerics.mode import Mode
from jumar.tables import numerics

_GLUE: list[ctypes.CDLL] = []
"""The glue, once it computes as a card does."""


def begin(library: ctypes.CDLL) -> None:
    """Before the operators are taken over; nothing where results are the CPU's."""
    found = mode.read()
    if found is None:
        return
    rows = "\n".join(" ".join([kind, name, *arguments]) for kind, name, arguments in numerics.operators(found.family))
    library.jumar_numerics_begin(rows.encode(), ctypes.c_uint64(found.seed))
    _GLUE.append(library)
    _follow(found)


def overflowed(*, clear: bool = False) -> bool:
    """Whether a result was saturated since the flag was cleared."""
    return bool(_GLUE and _GLUE[0].jumar_numerics_overflowed(int(clear)))


def _follow(found: Mode) -> None:
    """torch_npu keeps its switches to itself: they are asked for again whenever a program sets one."""
    import torch_npu

    set_option = torch_npu._C._npu_setOption

    @functools.wraps(set_option)
    def set_and_tell(*args: Any, **kwargs: Any) -> Any:
        result = set_option(*args, **kwargs)
        _tell(found)
        return result

    torch_npu._C._npu_setOption = set_and_tell
    _tell(found)


def _tell(found: Mode) -> None:
    import torch_npu

    products = (numerics.FORMATS.index(name) for name in numerics.formats(found.family, _option))
    saturates = not torch_npu._C._npu_is_support_inf_nan()
    _GLUE[0].jumar_numerics_set(*products, int(saturates))


def _option(name: str) -> str:
    import torch_npu

    value = torch_npu._C._npu_getOption(name)
    return value.decode() if value else ""
