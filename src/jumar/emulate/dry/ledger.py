"""The allocator's history of a dry run as plain values: who held the card's memory, at the peak and over a step."""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Iterable
from itertools import accumulate
from typing import Any, NamedTuple

from jumar.emulate.dry import load
from jumar.emulate.dry.places import WAITS
from jumar.emulate.dry.watch import BUFFER, COMMUNICATION, GRADIENT, GROUP, MODULE, STATE

_ROW = struct.Struct("<qqIIIIIBBBB")
_NUMBER = re.compile(r"(?<![\w])\d+(?![\w])")
FORWARD, BACKWARD, UPDATE = range(3)
PARAMETERS, GRADIENTS, OPTIMIZER = "parameters", "gradients", "optimizer state"
GATHERED, ACTIVATIONS, BACKWARDS = "gathered parameters", "activations", "backward temporaries"
UPDATES, EXCHANGED = "update temporaries", "communication buffers"
OWNERS = (PARAMETERS, GRADIENTS, OPTIMIZER, GATHERED, ACTIVATIONS, BACKWARDS, UPDATES, EXCHANGED)
POINTS = 160
"""Of a picture of one step."""


class Allocation(NamedTuple):
    """As in ledger.h; `died` is 0 for what is still alive."""

    address: int
    size: int
    born: int
    died: int
    module: int
    op: int
    site: int
    phase: int
    owners: int
    device: int
    step: int


class Ledger(NamedTuple):
    """What the kernels kept."""

    allocations: list[Allocation]
    names: list[str]
    signatures: list[str]
    sequence: list[int]
    ends: list[int]
    """Events at which steps ended."""


class Holder(NamedTuple):
    """Memory of one owner at the peak."""

    owner: str
    module: str
    op: str
    bytes: int
    tensors: int


class Peak(NamedTuple):
    """The moment at which most memory was asked for."""

    event: int
    bytes: int
    step: int
    phase: int
    site: str
    op: str
    holders: list[Holder]


def read() -> Ledger:
    library = load.library()
    rows = [Allocation(*row) for row in _ROW.iter_unpack(_bytes(library.jumar_dry_allocations, _ROW.size))]
    numbers = struct.Struct("<I")
    sequence, ends = (
        [item[0] for item in numbers.iter_unpack(_bytes(function, 4))]
        for function in (library.jumar_dry_sequence, library.jumar_dry_steps)
    )
    names, signatures = (library.jumar_dry_names(which).decode(errors="replace").split("\n") for which in (0, 1))
    return Ledger(_of_one_card(rows), names, signatures, sequence, ends)


def _bytes(function: Any, width: int) -> bytes:
    place = ctypes.c_void_p()
    count = function(ctypes.byref(place))
    return ctypes.string_at(place, count * width) if count else b""


def _of_one_card(rows: list[Allocation]) -> list[Allocation]:
    """A process may touch several cards; its work is on one."""
    sizes: dict[int, int] = {}
    for row in rows:
        sizes[row.device] = sizes.get(row.device, 0) + row.size
    most = max(sizes, key=lambda device: sizes[device], default=0)
    return [row for row in rows if row.device == most]


def owner(row: Allocation, known: bool) -> str:
    """`known`: parameters of modules were seen at all."""
    bits = row.owners
    if bits & STATE or (bits & GROUP and known and not bits & MODULE):
        return OPTIMIZER
    if bits & GRADIENT:
        return GRADIENTS
    if bits & (GROUP | BUFFER) or (bits & MODULE and not row.module):
        return PARAMETERS
    if bits & MODULE:
        return GATHERED
    if bits & COMMUNICATION:
        return EXCHANGED
    return (ACTIVATIONS, BACKWARDS, UPDATES)[row.phase]


def totals(rows: Iterable[Allocation], last: int) -> list[int]:
    """Bytes after every event."""
    changes = [0] * (last + 1)
    for row in rows:
        changes[row.born] += row.size
        if row.died:
            changes[row.died] -= row.size
    return list(accumulate(changes))


def peak(ledger: Ledger) -> Peak | None:
    if not ledger.allocations:
        return None
    rows = ledger.allocations
    sizes = totals(rows, _last(rows))
    event = max(range(len(sizes)), key=sizes.__getitem__)
    alive = [row for row in rows if row.born <= event and (not row.died or row.died > event)]
    maker = next(row for row in rows if row.born == event)
    seen = max((row for row in rows if row.site and row.born <= event), key=lambda row: row.born, default=maker)
    site = ledger.names[seen.site].partition(WAITS)[0]
    return Peak(
        event, sizes[event], sum(end < event for end in ledger.ends), maker.phase, site,
        ledger.names[maker.op], _holders(ledger, alive),
    )  # fmt: skip


def _holders(ledger: Ledger, alive: list[Allocation]) -> list[Holder]:
    known = any(row.owners & MODULE for row in ledger.allocations)
    found: dict[tuple[str, str, str], tuple[int, int]] = {}
    for row in alive:
        key = owner(row, known), _NUMBER.sub("*", ledger.names[row.module]), ledger.names[row.op]
        size, count = found.get(key, (0, 0))
        found[key] = size + row.size, count + 1
    rows = [Holder(*key, size, count) for key, (size, count) in found.items()]
    return sorted(rows, key=lambda row: -row.bytes)


def picture(ledger: Ledger) -> dict[str, list[int]]:
    """Bytes by owner over the last whole step, or over the run where there is none."""
    rows = ledger.allocations
    if not rows:
        return {}
    last = _last(rows)
    first, end = ([0, *ledger.ends])[-2:] if ledger.ends else (0, last)
    end = min(end, last)
    width = max(1, -(-(end - first) // POINTS))
    known = any(row.owners & MODULE for row in rows)
    groups: dict[str, list[Allocation]] = {}
    for row in rows:
        groups.setdefault(owner(row, known), []).append(row)
    all_sizes = totals(rows, last)
    events = [
        max(range(at, min(at + width, end + 1)), key=all_sizes.__getitem__) for at in range(first, end + 1, width)
    ]
    return {name: [totals_of[event] for event in events] for name in OWNERS
            if name in groups for totals_of in [totals(groups[name], last)]}  # fmt: skip


def _last(rows: list[Allocation]) -> int:
    return max(max(row.born, row.died) for row in rows)


def last_step(ledger: Ledger) -> list[str]:
    """Signatures of the last whole step, in order; of the whole run where no step ended."""
    ends = [place for place, number in enumerate(ledger.sequence) if number == 0]
    if not ends:
        part = ledger.sequence
    else:
        part = ledger.sequence[ends[-2] + 1 if len(ends) > 1 else 0 : ends[-1]]
    return [ledger.signatures[number] for number in part]
