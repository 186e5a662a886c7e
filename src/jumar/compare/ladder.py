"""From the environment to the loss curve, rung by rung: the first that fails is the one to work on."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from jumar.compare import curve, diff, floor, reader, runs, verdict
from jumar.compare.compare import compare
from jumar.compare.diff import Stepped
from jumar.compare.result import Pair, Verdict
from jumar.compare.store import Rank
from jumar.core.compat import dataclass
from jumar.core.errors import UserError
from jumar.core.words import counted

ROUNDINGS = ("bfloat16", "float16", "hf32")
_NO_BASE = "no reference: give one with `--base REC`"


@dataclass(frozen=True, slots=True)
class Rung:
    name: str
    state: str
    """`passed`, `failed`, `skipped` or `told`."""
    message: str
    advice: str = ""


def climb(words: Sequence[str], base: Path | None, output: Path | None, steps: int, seed: int | None) -> Iterator[Rung]:
    """The rungs as they are done; nothing comes after one that failed."""
    if output is not None and output.exists():
        raise UserError(f"`{output}` exists already", "name a new folder")
    reference = reader.ranks(base) if base is not None else None
    folder = output or Path(tempfile.mkdtemp(prefix="jumar-ladder-"))
    try:
        for rung in _rungs(words, base, reference, folder, steps, seed):
            yield rung
            if rung.state == "failed":
                return
    finally:
        if output is None:
            shutil.rmtree(folder, ignore_errors=True)


def _rungs(
    words: Sequence[str], base: Path | None, reference: list[Rank] | None, folder: Path, steps: int, seed: int | None
) -> Iterator[Rung]:
    request = runs.RecordRequest(steps=min(2, steps), seed=seed, stop=steps)
    first = _record(words, folder / "first", request._replace(floor=1))
    yield _environment(first, reference)
    second = _record(words, folder / "second", request._replace(steps=1, stop=min(2, steps)))
    yield _determinism(folder / "first", folder / "second", second)
    yield _control(words, folder, request, first)
    if base is None or reference is None:
        for name in ("weights", "forward", "gradients", "optimizer", "curve"):
            yield Rung(name, "skipped", _NO_BASE)
        return
    yield from _against(base, reference, folder / "first", first)


def _record(words: Sequence[str], folder: Path, request: runs.RecordRequest) -> Rank:
    code = runs.record(words, folder, request, lambda text: None, quiet=True)
    if code:
        raise runs.Failed(f"the program ended with {code}", "the ladder needs a program that runs")
    return reader.ranks(folder)[0]


def _environment(own: Rank, reference: list[Rank] | None) -> Rung:
    meta = own.meta
    says = f"torch {meta['torch']} on {meta['device']}{' (emulated)' if meta.get('emulated') else ''}, {meta['dtype']}"
    if reference is None:
        return Rung("environment", "passed", says)
    other = reference[0].meta
    if other.get("world") != meta.get("world") and "world" in other:
        return Rung("environment", "failed", f"{meta.get('world')} ranks against {other['world']} of the reference",
                    "run both with the same number of ranks")  # fmt: skip
    names = ("torch", "default_dtype", "seed", "deterministic")
    apart = [
        f"{name} {other[name]} -> {meta[name]}" for name in names if name in other and other[name] != meta.get(name)
    ]
    return Rung("environment", "passed", says + (f"; differs from the reference: {', '.join(apart)}" if apart else ""))


def _determinism(first: Path, second: Path, other: Rank) -> Rung:
    one = reader.ranks(first)[0]
    steps = diff.steps(one, other, floor.Floor("none", {}))
    apart = [pair for step in steps for pair in step.pairs if pair.error > 0]
    if not apart:
        return Rung("determinism", "passed", "two runs are equal bit for bit, as far as sketches show")
    found = min(apart, key=verdict.order)
    if found.a.kind in ("weight", "buffer"):
        advice = "the weights are not seeded: call `torch.manual_seed`, or give `--seed 0`"
    elif found.a.kind == "input":
        advice = "the data has another order: seed the sampler and the workers, or use `--seed 0`"
    else:
        advice = "seed it, or call `torch.use_deterministic_algorithms(True)`"
    return Rung(
        "determinism",
        "failed",
        f"two runs differ, starting at {verdict.name(found)}: relative error {found.error:.2g}",
        advice,
    )


def _control(words: Sequence[str], folder: Path, request: runs.RecordRequest, first: Rank) -> Rung:
    """What fewer bits in the operands of products do to this very program."""
    said = []
    for rounding in ROUNDINGS:
        rank = _record(words, folder / rounding, request._replace(rounded=rounding))
        steps = diff.steps(first, rank, floor.find(first))
        grads = [pair.error for pair in steps[0].pairs if pair.a.kind == "grad"] if steps else []
        gap = _gap(first, rank)
        worst = f", gradients up to {max(grads):.1%}" if grads else ""
        said.append(f"{rounding}: loss {gap}{worst}")
    return Rung("dtype control", "told", "expected gap to float32: " + "; ".join(said),
                "a gap of this size is rounding, not a fault")  # fmt: skip


def _gap(a: Rank, b: Rank) -> str:
    values = {row.step: row.loss for row in a.curve if row.loss}
    apart = [abs(row.loss - values[row.step]) / abs(values[row.step]) for row in b.curve
             if row.loss is not None and values.get(row.step)]  # fmt: skip
    return f"within {max(apart):.2%} over {counted(len(apart), 'step')}" if apart else "not seen"


def _against(base: Path, reference: list[Rank], path: Path, own: Rank) -> Iterator[Rung]:
    a = next((rank for rank in reference if rank.number == own.number), reference[0])
    noise = floor.find(a)
    if not noise.errors:
        noise = floor.find(own)
    steps = [verdict.settle(step) for step in diff.steps(a, own, noise)]
    if not steps:
        raise UserError(f"`{base}` has no step in common with the program", "record the reference with `--steps 2`")
    told = compare(base, path, common=True).verdict if floor.find(a).errors else verdict.judge(steps)
    stages: dict[str, Callable[[Pair], bool]] = {
        "weights": lambda pair: pair.a.kind in ("weight", "buffer", "input"),
        "forward": lambda pair: pair.a.phase == "forward",
        "gradients": lambda pair: pair.a.phase == "backward",
        "optimizer": lambda pair: True,
    }
    for name, belongs in stages.items():
        if told.differs and told.pair is not None and belongs(told.pair):
            yield Rung(name, "failed", told.message, told.meaning)
            return
        yield Rung(name, "passed", _largest(name, steps))
    others = [run.curve for run in _noise_runs(path)]
    left = told if told.kind == "curve" else curve.judge(a.curve, own.curve, others, verdict.LIMIT)
    yield _curve(left, a, own)


def _noise_runs(path: Path) -> list[Rank]:
    return [reader.ranks(child)[0] for child in sorted(path.glob(f"{floor.FLOORS}*"))]


def _largest(name: str, steps: Sequence[Stepped]) -> str:
    kinds = {"weights": ("weight", "buffer", "input"), "optimizer": ("state",), "gradients": ("grad",)}.get(name)
    pairs = [pair for step in steps for pair in step.pairs
             if (pair.a.kind in kinds if kinds else pair.a.phase == "forward" and pair.a.kind == "op")]  # fmt: skip
    worst = max(pairs, key=lambda pair: pair.over, default=None)
    if worst is None:
        return "nothing to compare"
    return f"{len(pairs)} tensors agree; the largest error is {worst.error:.2g}, {worst.over:.1f} times the floor"


def _curve(left: Verdict | None, a: Rank, own: Rank) -> Rung:
    if left is not None:
        return Rung("curve", "failed", left.message, left.meaning)
    shared = len({row.step for row in a.curve} & {row.step for row in own.curve})
    return Rung("curve", "passed", f"loss and gradient norm stay in the envelope over {counted(shared, 'step')}")
