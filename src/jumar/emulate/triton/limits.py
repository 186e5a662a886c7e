"""What a card or triton-ascend's compiler would refuse: said by name, before and while a kernel runs.

A grid that is too large and a data type that the compiler has not are refused. What is an estimate (the unified buffer)
or a line in a table of the documentation is a warning, once for each kernel.
"""

from __future__ import annotations

import functools
import os
import weakref
from typing import Any

from jumar.emulate.triton.errors import Refused
from jumar.runtime import variables
from jumar.runtime.tell import tell
from jumar.tables import socs, triton_limits

_ALIGNMENT = 32
"""Bytes: rows of a block start at multiples of this in the unified buffer."""
_VIEWS = {"create_broadcast", "create_splat", "create_expand_dims", "create_reshape", "create_addptr", "create_bitcast"}
"""Values that need no memory of their own."""
_SAID: set[tuple[str, ...]] = set()


def warn(*words: str) -> None:
    """On stderr, each once."""
    if words not in _SAID and not variables.QUIET.read():
        tell(f"Triton kernel {': '.join(words)}")
    _SAID.add(words)


def check_grid(kernel: str, grid: tuple[int, int, int]) -> None:
    total, most = grid[0] * grid[1] * grid[2], triton_limits.most_programs()
    if total > most and os.environ.get("TRITON_ALL_BLOCKS_PARALLEL", "").lower() not in ("1", "true"):
        raise Refused(
            f"`{kernel}` has a grid of {total:,} programs: coreDim={total} can't be greater than UINT16_MAX ({most:,})",
            "take larger blocks, or set TRITON_ALL_BLOCKS_PARALLEL=1 if the programs do not depend on each other",
        )


def check_options(options: dict[str, Any]) -> None:
    """Words of a launch that are neither arguments of the kernel nor options of a compiler are spelling mistakes."""
    for name in options:
        if name not in triton_limits.options():
            raise KeyError(f"Keyword argument {name} was specified but unrecognised")


def check_device(place: int, given: Any) -> None:
    device = getattr(getattr(given, "device", None), "type", "npu")
    if hasattr(given, "data_ptr") and device not in ("npu", "meta"):
        raise ValueError(f"Pointer argument (at {place}) cannot be accessed from Triton (cpu tensor?)")


def watch(launch: Any, key: tuple[Any, ...]) -> Watch | None:
    """What looks at the values of a kernel the first time it runs with these constants and types."""
    return None if _seen(launch.kernel, key) else Watch(launch)


class Watch:
    """Counts what a program keeps in the unified buffer: blocks that were loaded, and what is computed from them."""

    def __init__(self, launch: Any) -> None:
        self.launch = launch
        self.alive = self.most = 0
        self.slow: list[str] = []
        self.tails: list[str] = []
        self.scattered: list[str] = []
        self._held: dict[int, Any] = {}

    def built(self, name: str, words: tuple[Any, ...], answer: Any) -> None:
        if answer is None:
            if name in ("create_store", "create_masked_store"):
                self._check_type(name, words[1:], words[1])
                self._note_access(words[0], words[1])
            return
        if not hasattr(answer, "attr"):
            return
        self._note_speed(name, words, answer)
        loaded = "load" in name or any(getattr(word, "attr", {}).get("loaded") for word in words)
        if loaded:
            answer.attr["loaded"] = True
        self._check_type(name, words, answer)
        if loaded and name not in _VIEWS and answer.data.ndim > 1 and answer.data.dtype.kind != "b":
            self._hold(answer)

    def _note_speed(self, name: str, words: tuple[Any, ...], answer: Any) -> None:
        """What triton-ascend's performance guidelines name as slow."""
        if answer.data.ndim < 2:
            return
        kind = "comparison" if name.startswith("create_icmp") else "addition" if name == "create_add" else ""
        if kind and words[0].dtype.scalar.name in (("int64", "int32") if kind == "comparison" else ("int64",)):
            self.slow.append(f"{kind} of {words[0].dtype.scalar.name}")
        if name in ("create_load", "create_masked_load"):
            self._note_access(words[0], answer)

    def _note_access(self, pointers: Any, block: Any) -> None:
        shape, size = pointers.data.shape[1:], block.data.dtype.itemsize
        if not shape or shape[-1] < 2:
            return
        words = f"{'x'.join(map(str, shape))} of {block.dtype.scalar.name}"
        if shape[-1] * size % (512 if self.launch.uses_dot else _ALIGNMENT):
            self.tails.append(words)
        first = pointers.data.reshape(-1, shape[-1])[0, :2]
        if int(first[1]) - int(first[0]) not in (0, size):
            self.scattered.append(words)

    def _hold(self, answer: Any) -> None:
        shape = answer.data.shape[1:]
        row = -(-shape[-1] * answer.data.dtype.itemsize // _ALIGNMENT) * _ALIGNMENT
        size = row * functools.reduce(lambda total, length: total * length, shape[:-1], 1)
        if id(answer) in self._held:
            return
        self.alive += size
        self._held[id(answer)] = weakref.ref(answer, functools.partial(self._free, id(answer), size))
        self.most = max(self.most, self.alive)

    def _free(self, key: int, size: int, _: object) -> None:
        self.alive -= size
        self._held.pop(key, None)

    def _check_type(self, name: str, words: tuple[Any, ...], answer: Any) -> None:
        function = triton_limits.function(name, words)
        value = answer if function in ("load", "cast") else next((one for one in words if _is_number(one)), answer)
        dtype = value.dtype.scalar.name
        if dtype.startswith("fp8") and not _has_fp8():
            raise Refused(
                f"`{self.launch.kernel}` has values of type {dtype}, which {variables.SOC.read()} has not",
                "convert to float16 or bfloat16 on the host; chips from Ascend950 on have 8-bit floats",
            )
        if function and dtype in triton_limits.missing_types(function):
            self.launch.notes.append((f"tl.{function}", dtype))


def after(launch: Any) -> None:
    """Say what a card would not have done."""
    name = f"`{launch.kernel}`"
    for function, dtype in dict.fromkeys(launch.notes):
        warn(name, f"`{function}` of {dtype} is not supported on {variables.SOC.read()}", triton_limits.source())
    for message in launch.broken:
        said = f" ({message})" if message else ""
        warn(name, f"an assertion does not hold{said}: a card checks it with TRITON_DEBUG=1 only, and goes on without")
    for verb, where in launch.memory.strays.items():
        warn(name, f"{verb} outside of its tensors ({where}): a card may stop with an error of its memory engine (MTE)")
    if launch.watch is None or launch.uses_dot:
        return
    room = int(socs.socs()[variables.SOC.read()]["ub_kib"]) * 1024
    if launch.watch.most > room:
        warn(
            name,
            f"about {launch.watch.most:,} bytes of blocks are alive at once, the unified buffer of"
            f" {variables.SOC.read()} has {room:,}",
            "a card's compiler answers `ub overflow`; take smaller blocks and loop over them",
        )


@functools.cache
def _has_fp8() -> bool:
    return "950" in variables.SOC.read() or "910_95" in variables.SOC.read()


_KEYS: set[tuple[Any, ...]] = set()


def _seen(kernel: str, key: tuple[Any, ...]) -> bool:
    try:
        known = (kernel, key) in _KEYS
        _KEYS.add((kernel, key))
    except TypeError:
        return False
    return known


def _is_number(one: Any) -> bool:
    return hasattr(one, "dtype") and hasattr(one, "data") and not one.dtype.scalar.is_ptr()
