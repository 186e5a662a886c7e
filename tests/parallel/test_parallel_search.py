"""The search finds what looking at everything finds; the balance is optimal; contradictions are told."""

from __future__ import annotations

import itertools

import pytest

from jumar.core.compat import zip
from jumar.core.errors import UserError
from jumar.parallel import balance, hardware, models
from jumar.parallel.plan import Job
from jumar.parallel.search import Answer, Found, Search
from jumar.parallel.space import PlanRequest

SMALL = models.preset("gpt3-350m").with_(layers=6)


def _search(batch: int = 16, chip: str = "910B3", **constants: float) -> Search:
    return Search(SMALL, Job(batch), hardware.find(chip, constants))


def _everything(search: Search, wish: PlanRequest) -> list[Found]:
    found = (search.evaluate(plan, search.hardware.usable) for plan in search.plans(wish))
    return [item for item in found if item is not None]


@pytest.mark.parametrize(("memory", "framework"), [(65536, "mindspore"), (8200, "mindspore"), (6000, "torch")])
def test_pruning_loses_nothing(memory: int, framework: str) -> None:
    search = Search(SMALL.with_(framework=framework), Job(16), hardware.find("910B3", {"memory": memory}))
    answer: Answer = search.run(PlanRequest(8), keep=5)
    every = _everything(search, PlanRequest(8))
    fitting = sorted((item.time.total, item.peak) for item in every if item.fits)
    assert [(item.time.total, item.peak) for item in answer.fitting] == fitting[:5]
    front = {
        point for point in fitting if not any(o[0] <= point[0] and o[1] <= point[1] and o != point for o in fitting)
    }
    assert {(item.time.total, item.peak) for item in answer.front} == front
    assert answer.leanest is not None
    if not fitting:
        assert answer.leanest.peak == min(item.peak for item in every)


@pytest.mark.parametrize(
    ("layers", "fixed", "most"),
    [(7, [0.5, 0.0, 2.2], [7, 7, 7]), (6, [3.0, 0.0, 0.0], [2, 2, 3]), (5, [0, 0], [2, 2]), (3, [0, 0, 0], [1, 1, 1])],
)
def test_balance_is_optimal(layers: int, fixed: list[float], most: list[int]) -> None:
    ways = [
        counts
        for counts in itertools.product(*(range(1, cap + 1) for cap in most))
        if sum(counts) == layers
    ]  # fmt: skip
    found = balance.split(layers, fixed, 1.0, most)
    if not ways:
        assert found is None
        return
    slowest = [max(f + c for f, c in zip(fixed, counts, strict=True)) for counts in ways]
    assert found is not None and sum(found) == layers
    assert max(f + c for f, c in zip(fixed, found, strict=True)) == min(slowest)


def test_stages_of_equal_time_are_a_hard_wish() -> None:
    answer = _search().run(PlanRequest(8, equal_stages=0.3, pp=2))
    assert answer.fitting
    assert all(min(item.stages) >= 0.7 * max(item.stages) for item in answer.fitting)
    with pytest.raises(UserError, match="no plan has stages within 0 % of each other: the closest differ by"):
        _search().run(PlanRequest(8, equal_stages=0.0, pp=2))


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (PlanRequest(8, dp=3), "dp 3 cannot fill 8 cards"),
        (PlanRequest(8, dp=2, tp=2, pp=4), "dp 2 x tp 2 x pp 4 cannot fill 8 cards"),
        (PlanRequest(8, tp=8, pp=1, layers=(3, 3)), "`--layers` must give one count per stage, together 6"),
        (PlanRequest(8, pp=8), "8 stages need at least 8 layers; `gpt3-350m` has 6"),
        (PlanRequest(7), "no plan for 7 cards and a global batch of 16 meets these options"),
        (PlanRequest(8, dp=1, shard=1), "an optimizer shard needs data-parallel cards"),
        (PlanRequest(8, tp=1, sequence=True), "`--tp 1` has none"),
        (PlanRequest(8, ep=2), "`gpt3-350m` has no experts to divide"),
        (PlanRequest(8, pp=4, schedule="interleaved"), "two layers for each of 4 stages; there are 6"),
        (PlanRequest(8, pp=2, schedule="gpipe"), "MindSpore has no `gpipe` of its own"),
    ],
)
def test_contradictions_are_told(wish: PlanRequest, message: str) -> None:
    with pytest.raises(UserError, match=message):
        _search().run(wish)


def test_heads_that_cards_cannot_share_are_told() -> None:
    search = Search(models.preset("llama3-8b"), Job(32), hardware.find("910B3", {}))
    with pytest.raises(UserError, match="tensor parallel 16 does not divide 32 heads, 8 key heads"):
        search.run(PlanRequest(32, tp=16))


def test_selective_recompute_needs_scores() -> None:
    search = Search(SMALL.with_(attention="flash"), Job(16), hardware.find("910B3", {}))
    with pytest.raises(UserError, match="fused attention writes none"):
        search.run(PlanRequest(8, recompute="selective"))


def test_bounds_are_never_above_the_truth() -> None:
    search = _search(batch=64)
    for group in search.space.groups(PlanRequest(8)):
        quickest = search.quickest(group)
        for plan in group.plans():
            found = search.evaluate(plan, search.hardware.usable)
            assert found is not None
            assert quickest <= found.time.total * (1 + 1e-9)
            assert search.model.least(plan, search.depth) <= found.peak


def test_constants_of_the_user_count() -> None:
    slow = _search(hccs=1).run(PlanRequest(8, tp=8)).best
    fast = _search(hccs=1000).run(PlanRequest(8, tp=8)).best
    assert slow is not None and fast is not None and slow.time.total > fast.time.total
    with pytest.raises(UserError, match="unknown constant: `hcs`"):
        _search(hcs=1)
    with pytest.raises(UserError, match="must be greater than 0"):
        _search(hccs=0)


def test_chips_without_constants_are_refused() -> None:
    with pytest.raises(UserError, match="no constants for training on `310B4`"):
        hardware.find("310B4", {})
    with pytest.raises(UserError, match="unknown chip: `910Z`"):
        hardware.find("910Z", {})


def test_every_constant_has_source_and_confidence() -> None:
    for row in hardware.find("910B3", {}).constants.values():
        assert row.source and row.confidence in ("official", "derived", "general", "judgement", "fitted")


def test_peak_of_a_chip_is_derived_from_its_cores() -> None:
    assert hardware.find("910B3", {})["matrix_peak"] == pytest.approx(294.9, abs=0.1)
