"""What proves that two runs are the same: loss and gradient norm of the first step, whatever operators made them.

Operators that only one run calls are not judged themselves. Weights and inputs are equal where this is asked, so the
loss they lead to must be equal up to rounding, and so must what a stretch of such operators makes of equal values;
where there is no loss, the last results must have been compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jumar.compare import floor, measure, region
from jumar.compare.align import canonical
from jumar.compare.diff import Stepped
from jumar.compare.region import Region, counts
from jumar.compare.result import STATS, Curve, RecordEntry, Verdict
from jumar.compare.store import Rank, RecordedStep
from jumar.core.compat import zip

_SUM = STATS.index("sum")
_TINY = 1e-12
_DEEP = 8
"""Operators between the loss and what it was summed up from."""


class Room(NamedTuple):
    """How far apart two numbers may be, in roundings, and relative at most; beyond `far` it is a difference."""

    near: float
    far: float
    most: float


_ROOM = {"loss": Room(16, 128, 0.25), "grad_norm": Room(64, 1024, 0.5)}
_MATCHED = 16.0
"""Where every operator was compared with its partner, rounding may have added up to this many times that."""
_NAMES = {"loss": "the loss", "grad_norm": "the gradient norm"}


def judge(a: Rank, b: Rank, steps: tuple[RecordedStep, RecordedStep], found: Stepped, noisy: Sequence[Rank],
          unit: float, limit: float) -> Verdict | None:  # fmt: skip
    """A verdict if the first step speaks against SAME; None if it does not."""
    alone = [(side, entry) for side, entries in (("A", found.only_a), ("B", found.only_b))
             for entry in entries if counts(entry)]  # fmt: skip
    for field in ("loss", "grad_norm"):
        first, second = _value(a.curve, field), _value(b.curve, field)
        if first is None or second is None:
            continue
        size = max(abs(first), abs(second), _parts(steps[0], first) if field == "loss" else 0.0)
        error = abs(first - second) / size if size > _TINY else 0.0
        near, far = _room(field, unit, limit, first, size, noisy, matched=not alone)
        if field == "loss" and alone and not noisy:
            ends = _ends(steps[0], first), _ends(steps[1], second)
            near = min(near, region.to_the_end(ends, steps, found.pairs, unit, limit))
        if not error <= near:
            return _told(field, first, second, error, near, alone, certain=not error <= far)
    for stretch in found.regions:
        explained = max(stretch.explained(unit, limit), 2 * stretch.pair.floor if noisy else 0.0)
        if not stretch.error <= explained:
            return _open(stretch, explained)
    if alone and (_value(a.curve, "loss") is None or _value(b.curve, "loss") is None):
        return _last(steps, found, alone)
    return None


def _room(field: str, unit: float, limit: float, value: float, size: float, noisy: Sequence[Rank], *,
          matched: bool) -> tuple[float, float]:  # fmt: skip
    room = _ROOM[field]
    near, far = room.near * unit, room.far * unit
    known: dict[float, float] = {}
    for run in noisy:
        other = _value(run.curve, field)
        if other is not None and size > _TINY:
            noise = floor.noise_of(run)
            known[noise] = max(known.get(noise, 0.0), abs(other - value) / size)
    if known:
        near = max(near, 2 * limit * floor.between(sorted(known.items()), unit))
        far = max(far, 2 * near)
    if matched:
        near, far = _MATCHED * near, _MATCHED * far
    return min(near, room.most), min(far, room.most)


def _told(field: str, first: float, second: float, error: float, near: float, alone: Sequence[tuple[str, RecordEntry]],
          *, certain: bool) -> Verdict:  # fmt: skip
    where = list(dict.fromkeys(f"`{entry.module}`" for _, entry in alone if entry.module))[:3]
    message = (
        f"{_NAMES[field]} of the first step is {second:.6g} against {first:.6g}, on equal weights and inputs:"
        f" relative error {error:.2g}, of which rounding explains {near:.1g}"
        + (f"; the runs call other operators{' in ' + ' and '.join(where) if where else ''}" if alone else "")
    )
    between = tuple(f"only in {side}: {_place(entry)}" for side, entry in _both(alone))
    if certain:
        return Verdict(
            "loss", message, "compare the code of these operators, and what computes the loss", None, between
        )
    return Verdict(
        "inconclusive", message, "measure the noise: record the reference again with `--floor 1`", None, between
    )


def _open(stretch: Region, explained: float) -> Verdict:
    return Verdict(
        "inconclusive",
        f"the runs compute what {_place(stretch.pair.a)} reads with different operators; the results differ by"
        f" {stretch.error:.2g}, of which rounding explains {explained:.1g}",
        "compare the code of these operators; to measure the noise, record the reference again with `--floor 1`",
        stretch.pair,
        tuple(f"only in {side}: {_place(entry)}" for side, entry in _both(stretch.alone)),
    )


def _last(
    steps: tuple[RecordedStep, RecordedStep], found: Stepped, alone: Sequence[tuple[str, RecordEntry]]
) -> Verdict | None:
    """Without a loss: whether the results that nothing else reads were compared."""
    judged = {pair.a.index for pair in found.pairs}, {pair.b.index for pair in found.pairs}
    for name, step, done in zip("AB", steps, judged, strict=True):
        read = {number for entry in step.entries if entry.kind == "op" for number in entry.inputs}
        ends = [entry for entry in step.entries if counts(entry) and entry.index not in read]
        open_ends = [entry for entry in ends if entry.index not in done]
        if open_ends:
            return Verdict(
                "inconclusive",
                f"{len(open_ends)} of {len(ends)} results of {name} have no partner, the first is"
                f" {_place(open_ends[0])}; the program shows no loss that would decide",
                "record a training step, or make both programs call the same operators there",
                None,
                tuple(f"only in {side}: {_place(entry)}" for side, entry in _both(alone)),
            )
    return None


def _both(alone: Sequence[tuple[str, RecordEntry]]) -> list[tuple[str, RecordEntry]]:
    return [row for side in "AB" for row in [row for row in alone if row[0] == side][:5]]


def _value(curve: Sequence[Curve], field: str) -> float | None:
    found: float | None = next((getattr(row, field) for row in curve if row.step == 0), None)
    return found


def _parts(step: RecordedStep, loss: float) -> float:
    """The size of what the loss is the sum of: parts that take each other away leave their rounding behind."""
    return max((_size(step, entry, _DEEP) for entry in _ends(step, loss)), default=0.0)


def _ends(step: RecordedStep, loss: float) -> list[RecordEntry]:
    """The operator that made the loss, if there is one."""
    return [entry for entry in step.entries if entry.kind == "op" and entry.phase == "forward" and entry.outs
            and entry.outs[0].row >= 0 and entry.outs[0].numel == 1
            and abs(float(step.numbers[entry.outs[0].row][_SUM]) - loss) <= 1e-6 * abs(loss)][-1:]  # fmt: skip


def _size(step: RecordedStep, entry: RecordEntry, left: int) -> float:
    own = measure.mean_size(step, entry)
    if left == 0 or canonical(entry.op) not in ("add", "sub", "mean", "neg", "rsub"):
        return own
    return max(own, *(_size(step, step.entries[number], left - 1) for number in entry.inputs), 0.0)


def _place(entry: RecordEntry) -> str:
    return " ".join(part for part in (f"`{entry.title}`", entry.module and f"of `{entry.module}`",
                                      entry.where and f"at {entry.where}") if part)  # fmt: skip
