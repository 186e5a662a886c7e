"""Weights that both runs use and only one run gives a gradient: a frozen layer, a detached branch."""

from __future__ import annotations

from jumar.compare import measure
from jumar.compare.result import Verdict
from jumar.compare.store import RecordedStep
from jumar.core.compat import zip

_SHOWN = 5


def judge(told: Verdict, a: RecordedStep, b: RecordedStep) -> Verdict:
    """The verdict, or the missing gradients where nothing before the backward pass explains more."""
    pair = told.pair
    explains = told.differs and told.kind not in ("loss", "curve")
    if explains and (pair is None or (pair.step == 0 and pair.a.phase == "forward")):
        return told
    for side, mine, other in zip("AB", (a, b), (b, a), strict=True):
        alone = _without(mine, other)
        if alone:
            more = len(alone) - 1
            return Verdict(
                "gradients",
                f"the weight `{alone[0]}`{f' and {more} more get' if more else ' gets'} a gradient in {side} only,"
                " and both runs compute with it",
                "in the other run it is frozen (`requires_grad`), left out of the optimizer, or cut off by `detach`,"
                " `no_grad` or an operator without a gradient",
                None,
                tuple(f"gradient only in {side}: `{name}`" for name in alone[:_SHOWN]),
            )
    return told


def _without(mine: RecordedStep, other: RecordedStep) -> list[str]:
    """Weights with a gradient here and none there; what the other run does not use, such as an idle expert, is left."""
    theirs = {entry.name for entry in other.entries if entry.kind == "grad"}
    used = {entry.name for entry in other.entries if entry.kind == "weight" and entry.phase == "forward"}
    if not theirs:
        return []
    return [entry.name for entry in mine.entries if entry.kind == "grad" and entry.name not in theirs
            and entry.name in used and measure.mean_size(mine, entry) > 0]  # fmt: skip
