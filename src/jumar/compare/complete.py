"""What a record lacks: the end of its program, ranks, steps, or some of its noise runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from jumar.compare.floor import runs_beside
from jumar.compare.result import Verdict
from jumar.compare.store import Rank
from jumar.core.compat import zip

_AGAIN = "record it again: only a run that came to its end can be compared"
_ALIKE = "record both runs with the same `--steps` and `--stop`"
_FLOOR = "record the reference again with `--floor 1`, or compare with `--floor REC` for runs of your own"


def judge(
    a: Sequence[Rank], b: Sequence[Rank], named: tuple[Path, Path], floors: Sequence[Path], told: Verdict,
    *, common: bool = False,
) -> Verdict:  # fmt: skip
    """The verdict, or that it cannot be given: an incomplete record proves nothing, a floor with gaps no difference."""
    for name, ranks, path in zip("AB", (a, b), named, strict=True):
        for reason in _unfinished(ranks, (path / "meta.json").exists() or path.is_file()):
            return _open(f"{name} is incomplete: {reason}", told, _AGAIN)
    lacking = _floor(a, floors)
    if lacking and told.differs:
        return _open(lacking, told, _FLOOR)
    if told.kind in ("same", "within") and not common:
        for reason in _steps(a, b):
            return _open(reason, told, _ALIKE)
    return told


def ended(rank: Rank) -> str:
    """How the program of a record failed; empty if it came to its end."""
    meta = rank.meta
    steps = f"after {meta['steps']} step{'' if meta['steps'] == 1 else 's'}" if "steps" in meta else "early"
    state = str(meta.get("ended", "finished" if meta.get("complete", True) else "running"))
    code = meta.get("exit_code", 0)
    if state.startswith("failed"):
        return f"the program {state} {steps}"
    if isinstance(code, int) and code < 0:
        return f"the program was killed by signal {-code} {steps}"
    if code:
        return f"the program ended with exit code {code} {steps}"
    return f"the program was killed, or still runs, {steps}" if state == "running" else ""


def _unfinished(ranks: Sequence[Rank], one_rank: bool) -> Iterator[str]:
    """`one_rank`: the user named the folder of a single rank."""
    for rank in ranks:
        reason = ended(rank)
        if reason:
            yield reason + (f" on rank {rank.number}" if len(ranks) > 1 else "")
    world = max((int(rank.meta.get("world", 1)) for rank in ranks), default=1)
    there = len({rank.number for rank in ranks})
    if there < world and not one_rank:
        yield f"{there} of {world} ranks are there"


def _steps(a: Sequence[Rank], b: Sequence[Rank]) -> Iterator[str]:
    """Steps that only one run has."""
    by_rank = {rank.number: rank for rank in b}
    for one in a:
        other = by_rank.get(one.number)
        if other is None or one.meta.get("vendor") or other.meta.get("vendor"):
            continue
        for what, mine, theirs in (
            ("recorded steps", len(one.steps), len(other.steps)),
            ("steps", len(one.curve), len(other.curve)),
        ):
            if mine != theirs:
                yield f"A has {mine} {what}, B {theirs}: nothing is known about the others"


def _floor(ranks: Sequence[Rank], floors: Sequence[Path]) -> str:
    if floors:
        return ""
    for rank in ranks:
        planned = rank.meta.get("floor_planned") or 0
        done = len(runs_beside(rank))
        if done < planned:
            return f"the noise floor is incomplete: {done} of {planned} noise runs are there"
    return ""


def _open(reason: str, told: Verdict, advice: str) -> Verdict:
    so_far = f"; what is there says: {told.message}" if told.differs else ""
    return Verdict("inconclusive", reason + so_far, advice, told.pair, told.between)
