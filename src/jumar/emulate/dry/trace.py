"""The order of operators and collectives of a run, dry or computed, so that one can be held against the other."""

from __future__ import annotations

import ctypes
import functools
import json
import os
from pathlib import Path
from typing import Any

from jumar.emulate.dry import ledger, load, peaks, peers, places
from jumar.runtime import variables

_PRINTED: list[range] = []
"""Parts of the sequence in which a tensor was turned into text: what is called there depends on its values."""


def install() -> None:
    from torch import _tensor_str

    original = _tensor_str._str

    @functools.wraps(original)
    def as_text(*args: Any, **options: Any) -> str:
        first = _length()
        try:
            return str(original(*args, **options))
        finally:
            _PRINTED.append(range(first, _length()))

    _tensor_str._str = as_text


def _length() -> int:
    return int(load.library().jumar_dry_sequence(ctypes.byref(ctypes.c_void_p())))


def write() -> None:
    """`rank-0.json` in the folder that `JUMAR_DRY_TRACE` names."""
    folder = Path(variables.DRY_TRACE.read())
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(order(ledger.read()))
    (folder / f"rank-{int(os.environ.get('RANK') or 0)}.json").write_text(text, encoding="utf-8")


def order(kept: ledger.Ledger) -> dict[str, Any]:
    """Of whole steps: operators with types and sizes of what went in and came out, collectives with bytes and ranks.

    The last step has no end of its own: behind it is what the program does at its end.
    """
    operators: list[str] = []
    collectives: list[list[Any]] = []
    groups = peers.groups()
    ends = [place for place, number in enumerate(kept.sequence) if number == 0]
    printed = {place for part in _PRINTED for place in part}
    for place, number in enumerate(kept.sequence[: ends[-2] if len(ends) > 1 else None]):
        if place in printed:
            continue
        name, *parts = kept.signatures[number].split("\t")
        if not name.startswith("c10d::"):
            operators.append(kept.signatures[number] or "step")
            continue
        size, group, _, waits, called = parts
        site = kept.names[int(called)].partition(places.WAITS)[0]
        collectives.append([name, int(size), groups.get(group, []), waits, site])
    return {"operators": operators, "collectives": collectives, "memory": _memory(kept)}


def _memory(kept: ledger.Ledger) -> dict[str, int]:
    return peaks.highest(kept.allocations[0].device)._asdict() if kept.allocations else {}
