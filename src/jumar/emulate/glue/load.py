"""Connects the glue to torch_npu: built and installed when a program first touches an NPU."""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
from pathlib import Path
from typing import Any

from jumar.core.compat import add_note
from jumar.core.errors import UserError
from jumar.emulate import env
from jumar.emulate.glue import build, composite, past_dispatcher, probe, sparse
from jumar.emulate.numerics import install as numerics
from jumar.runtime import variables
from jumar.tables import operators, tested

_SPACES: list[str] = []
"""Namespaces of operators that companions of torch_npu have brought."""


def connect() -> None:
    """Puts the installation in front of torch_npu's own initialisation, so that importing stays cheap."""
    import torch_npu

    start = torch_npu._C._npu_init

    @functools.wraps(start)
    def start_with_glue(*args: Any, **kwargs: Any) -> Any:
        try:
            install()
            if variables.OPS.read() or variables.REFUSAL_FILE.read():
                _record()
        except UserError as error:
            if error.hint:
                add_note(error, f"hint: {error.hint}")  # plain `python` shows a traceback: the hint ends it
            raise
        return start(*args, **kwargs)

    torch_npu._C._npu_init = start_with_glue


@functools.cache
def install() -> int:
    """Takes over torch_npu's operators and returns how many."""
    library = _open(build.library())
    os.environ.update(probe.settings())
    numerics.begin(library)
    message = ctypes.create_string_buffer(4096)
    count = int(
        library.jumar_glue_install(
            int(env.has_bfloat16()),
            operators.CHIPS.index(env.chip()),
            _load_reference,
            message,
            ctypes.c_size_t(len(message)),
        )
    )
    if count >= 0:
        for space in _SPACES:
            _take_over(library, space)
        composite.register()
        sparse.register()
        past_dispatcher.register()
        library.jumar_glue_watch_leaving()
        atexit.register(library.jumar_glue_leave)
    else:
        raise UserError(
            f"the glue does not fit this torch: {message.value.decode(errors='replace')}",
            hint=tested.pair_hint(),
        )
    return count


def take_over(space: str) -> None:
    """Answers the operators of a namespace by references from here on; waits for the installation if need be."""
    _SPACES.append(space)
    if install.cache_info().currsize:
        _take_over(_open(build.library()), space)


def _take_over(library: ctypes.CDLL, space: str) -> None:
    message = ctypes.create_string_buffer(4096)
    if library.jumar_glue_take_over(space.encode(), message, ctypes.c_size_t(len(message))) < 0:
        raise UserError(f"the operators of `{space}` do not fit: {message.value.decode(errors='replace')}")


@functools.cache
def _record() -> None:
    from jumar.emulate.glue import record

    record.start(_open(build.library()))


def report() -> dict[str, list[str]]:
    """Operators by what the dispatcher of this process does with them.

    `native`: the CPU kernel on the card's memory; `own`: left to torch_npu; `reference`: no CPU kernel, answered by
    jumar.emulate.torch_ops or refused; `composed`: also differentiated by torch's own composition; `npu`: NPU-only,
    answered by jumar.emulate.torch_ops; `npu-own`: NPU-only, left to torch_npu.
    """
    states: dict[str, list[str]] = {}
    for line in text().splitlines():
        state, name = line.split(" ", 1)
        states.setdefault(state, []).append(name)
    return {state: sorted(names) for state, names in sorted(states.items())}


def text() -> str:
    """The report as the glue writes it: a state and a name per line."""
    install()
    library = _open(build.library())
    library.jumar_glue_report.restype = ctypes.c_char_p
    return str(library.jumar_glue_report().decode())


def _find_reference(name: bytes, message: int, room: int) -> int:
    """Called by the glue when a program first uses an NPU-only operator."""
    from jumar.emulate.torch_ops import registry

    try:
        registry.load(name.decode())
        return 0
    except Exception as error:  # nothing may travel through the C caller
        text = str(error).encode()[: room - 1] + b"\0"
        ctypes.memmove(message, text, len(text))
        return -1


_load_reference = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)(_find_reference)


@functools.cache
def _open(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise UserError(f"cannot load the glue: {error}", hint=tested.pair_hint()) from error
