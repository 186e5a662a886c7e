"""Two records in, one comparison out: all ranks, the earliest difference first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jumar.compare import align, blame, complete, curve, diff, floor, model, proof, reader, reproducer, trained, verdict
from jumar.compare.diff import Stepped
from jumar.compare.floor import Floor
from jumar.compare.model import Judged
from jumar.compare.result import Comparison, Curve, Side
from jumar.compare.store import Rank
from jumar.core.errors import UserError

_FACTS = ("device", "dtype", "torch", "torch_npu", "numpy", "python", "machine", "threads", "default_dtype",
          "deterministic", "seed", "world")  # fmt: skip
_COLLECTIVES = ("c10d.", "_c10d_functional.", "c10d_functional.")
_FINE = "float32"
"""What is left when the reference computes as the card does."""
_NEAR = 3
"""Operators between a collective and the first one that shows what it brought: copies, a division."""


def compare(
    first: Path, second: Path, floors: Sequence[Path] = (), precision: str = "", limit: float = verdict.LIMIT,
    *, common: bool = False,
) -> Comparison:  # fmt: skip
    """The rank whose difference comes first, or whose noise is largest; `common` looks at the steps of both only."""
    a, b = reader.ranks(first), reader.ranks(second)
    by_rank = {rank.number: rank for rank in b}
    both = [(rank, by_rank[rank.number]) for rank in a if rank.number in by_rank]
    if not both:
        raise UserError(f"`{first}` and `{second}` have no rank in common", "compare records of the same ranks")
    found = [_rank(one, other, floors, precision, limit) for one, other in both]
    chosen = min(found, key=_urgency)
    chosen.verdict = complete.judge(a, b, (first, second), floors, chosen.verdict, common=common)
    chosen.a, chosen.b = _side(first, a, chosen.rank), _side(second, b, chosen.rank)
    if len(a) != len(b):
        chosen.notes.append(f"{len(a)} ranks against {len(b)}: only the ranks of both were compared")
    if len(found) > 1:
        chosen.notes.append(f"{_differing(found)}; rank {chosen.rank} is shown")
    return chosen


def _urgency(one: Comparison) -> tuple[int, int, bool, tuple[int, int], int]:
    """Differences first, of those the earliest step; what came over a collective has its cause on another rank."""
    told, pair = one.verdict, one.verdict.pair
    answer = ("DIFFERENT", "INCONCLUSIVE", "SAME").index(told.answer)
    return answer, pair.step if pair else 0, _received(one), verdict.order(pair) if pair else (0, 0), one.rank


def _received(one: Comparison) -> bool:
    """Whether the first difference of a rank is what a collective brought."""
    pair = one.verdict.pair
    if pair is None or not one.verdict.differs:
        return False
    known = {other.a.index: other.a for other in one.pairs if other.step == pair.step}
    near = {pair.a.index}
    for _ in range(_NEAR):
        near |= {number for index in near if index in known for number in known[index].inputs}
    return any(index in known and known[index].op.startswith(_COLLECTIVES) for index in near)


def _differing(found: Sequence[Comparison]) -> str:
    bad = [one for one in found if one.verdict.differs]
    if not bad:
        return f"ranks that differ: none of {len(found)}"
    received = sum(map(_received, bad))
    names = ", ".join(str(one.rank) for one in bad)
    after = f", {received} of them only after a collective" if received else ""
    return f"ranks that differ: {len(bad)} of {len(found)} ({names}){after}"


def _rank(a: Rank, b: Rank, floors: Sequence[Path], precision: str, limit: float) -> Comparison:
    noise = floor.find(a, floors)
    runs = _base_runs(a, floors)
    expected = precision or _precision(a, b)
    found = _judge(a, b, noise, runs, precision, expected, limit)
    imitation = None if precision else model.find(a, b)
    explained = None
    if imitation is not None:
        rest = _judge(imitation, b, noise, runs, _FINE, _FINE, limit)
        told, explained = model.explain(found, rest, imitation, b, limit)
        found = rest._replace(told=told) if told is not found.told else found
    result = Comparison(
        _side(a.path, [a], a.number), _side(b.path, [b], b.number), a.number,
        expected, noise.source, limit, found.told, explained=explained,
    )  # fmt: skip
    _fill(result, found.steps, a, b, [run.curve for run in runs], noise)
    return result


def _judge(a: Rank, b: Rank, noise: Floor, runs: Sequence[Rank], precision: str, expected: str, limit: float) -> Judged:
    same_device = not a.meta.get("vendor") and all(
        a.meta.get(key) == b.meta.get(key) for key in ("device", "emulated", "vendor", "torch")
    )
    steps = [verdict.settle(step, limit, same_device=same_device) for step in diff.steps(a, b, noise, precision)]
    if not steps and not (a.curve and b.curve):
        raise UserError(f"`{a.path}` and `{b.path}` have no step in common", "record the same steps")
    if not any(step.pairs for step in steps) and steps:
        raise UserError(f"`{a.path}` and `{b.path}` have no operator in common", "compare two runs of the same program")
    told = verdict.judge(steps, limit, same_device=same_device)
    if told.kind == "overflow" and told.pair is not None:
        pairs = [pair for step in steps for pair in step.pairs]
        told = blame.blame(told, reader.step(a, told.pair.step), reader.step(b, told.pair.step), pairs)
    if not told.differs:
        told = curve.judge(a.curve, b.curve, [run.curve for run in runs], limit) or told
    if not told.differs and steps and steps[0].number == 0:
        both = reader.step(a, 0), reader.step(b, 0)
        told = proof.judge(a, b, both, steps[0], runs, floor.EXPECTED[expected], limit) or told
    if steps and steps[0].number == 0:
        told = trained.judge(told, reader.step(a, 0), reader.step(b, 0))
    return Judged(steps, told)


def _fill(
    result: Comparison, steps: Sequence[Stepped], a: Rank, b: Rank, others: list[list[Curve]], noise: Floor
) -> None:
    result.pairs = [pair for step in steps for pair in step.pairs]
    result.only_a = align.counted([entry for step in steps for entry in step.only_a if entry.phase != "optimizer"])
    result.only_b = align.counted([entry for step in steps for entry in step.only_b if entry.phase != "optimizer"])
    result.differences = [
        f"{name}: {a.meta.get(name)} -> {b.meta.get(name)}"
        for name in _FACTS
        if name in a.meta and name in b.meta and a.meta[name] != b.meta[name]
    ]
    result.curves = {"A": a.curve, "B": b.curve, **{f"base {place + 1}": run for place, run in enumerate(others)}}
    if not noise.errors:
        result.notes.append(
            "no noise floor: tolerances are rough; `jumar compare record --floor 2` measures them per operator"
        )
    if result.explained is not None:
        result.notes.append(model.note(result.explained))
    for name, rank in (("A", a), ("B", b)):
        if rank.meta.get("cut"):
            result.notes.append(f"{name} is incomplete: a step has more operators than a record holds")
        if rank.meta.get("statistics"):
            result.notes.append(f"{name} has statistics only: errors are lower bounds")
    pair = result.verdict.pair
    if pair is not None and pair.a.kind == "op" and pair.a.op.startswith(("aten.", "npu.")):
        step = reader.step(a, pair.step)
        result.reproducer = reproducer.script(step, pair, a.path)


def _base_runs(a: Rank, floors: Sequence[Path]) -> list[Rank]:
    given = [rank for path in floors for rank in reader.ranks(path) if rank.number == a.number]
    runs = given if floors else floor.runs_beside(a)
    return [run for run in runs if run.curve]


def _precision(a: Rank, b: Rank) -> str:
    shared = sorted(set(a.steps) & set(b.steps))
    if not shared:
        return "float32"
    first, second = (reader.read_step(rank.steps[shared[0]]) for rank in (a, b))
    return floor.precision(first.entries, second.entries, b.meta)


def _side(path: Path, ranks: Sequence[Rank], number: int) -> Side:
    rank = next(rank for rank in ranks if rank.number == number)
    meta: dict[str, Any] = rank.meta
    count = len(reader.read_step(rank.steps[min(rank.steps)]).entries) if rank.steps else 0
    steps = max(len(rank.curve), len(rank.steps))
    return Side(
        str(path), str(meta.get("device")), str(meta.get("dtype")), str(meta.get("torch")), steps, count, len(ranks)
    )
