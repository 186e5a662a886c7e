"""Advice that is followed never makes it worse, and what is printed can be generated: over models and clusters."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from click.testing import CliRunner

from jumar.app import parallel as app
from jumar.cli.main import jumar
from jumar.core.errors import UserError
from jumar.parallel import advice, hardware, knobs, models, provable, prove
from jumar.parallel.network import Network
from jumar.parallel.plan import Job, Plan
from jumar.parallel.search import Search
from jumar.parallel.space import PlanRequest
from jumar.report import parallel as report

CASES = [(name, cards, each, attention, framework)
         for name in ("gpt3-1.3b", "llama-7b", "llama3-8b", "llama-70b", "pangu-alpha-13b", "mixtral-8x7b",
                      "mlp-8x1024")
         for cards, each in ((1, 4), (8, 1), (48, 2), (256, 4))
         for attention, framework in (("flash", "mindspore"), ("plain", "torch"))]  # fmt: skip


def _search(net: Network, cards: int, each: int, memory: int = 65536) -> Search:
    return Search(net, Job(cards * each), hardware.find("910B3", {"memory": memory}))


@pytest.mark.parametrize(("name", "cards", "each", "attention", "framework"), CASES[3::13])
def test_advice_never_makes_it_worse(name: str, cards: int, each: int, attention: str, framework: str) -> None:
    net = models.preset(name)
    if net.heads:
        net = net.with_(attention=attention)
    _follow(net.with_(framework=framework), cards, each)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "cards", "each", "attention", "framework"), CASES)
def test_advice_over_all_models_never_makes_it_worse(
    name: str, cards: int, each: int, attention: str, framework: str
) -> None:
    test_advice_never_makes_it_worse(name, cards, each, attention, framework)


def _follow(net: Network, cards: int, each: int) -> None:
    for memory in (65536, 24576):
        search = _search(net, cards, each, memory)
        answer = search.run(PlanRequest(cards))
        best = answer.best or answer.leanest
        assert best is not None
        for base in (best, advice.plainest(search, PlanRequest(cards), best)):
            for knob in knobs.knobs(search, base):
                changed = net.with_(attention="flash") if knob.name == "flash" else net
                after = _search(changed, cards, each, memory).evaluate(knob.plan, search.hardware.usable)
                assert after is not None and not provable.reason(changed, knob.plan)
                assert search.space.possible(knob.plan) or knob.name == "flash"
                assert (after.peak, after.time.total, after.fits) == (knob.peak, knob.time, knob.fits)
                if base.fits:
                    assert after.fits and after.time.total < base.time.total
                else:
                    assert after.peak < base.peak
        fewest = advice.fewest(search, PlanRequest(cards))
        assert fewest is None or (fewest[1].fits and fewest[1].plan.cards == fewest[0])


@pytest.mark.parametrize(("model", "cards", "options"), [
    ("llama-70b", 16, {"tp": 8}), ("mixtral-8x7b", 32, {"seq": 4096, "constants": {"hccs": 150.0}}),
    ("gpt3-13b", 16, {"framework": "torch", "memory": "40G"}), ("mlp-8x1024", 8, {"global_batch": 64}),
])  # fmt: skip
def test_the_printed_commands_give_the_printed_plan(model: str, cards: int, options: dict[str, Any]) -> None:
    result = app.parallel(app.ParallelRequest(model=model, cards=cards, **options))
    assert [title for title, _ in result.result.commands] == ["write it", "prove it", "start it"]
    plan = result.to_json()["plans"][0]
    write, prove = (shlex.split(command) for _, command in result.result.commands[:2])
    assert write[-4::2] == ["--code", ">"] and prove[-2:] == ["--prove", "1"]
    again = CliRunner().invoke(jumar, [*prove[1:-2], "--json"])
    assert again.exit_code == 0, again.output
    found = json.loads(again.output)["plans"][0]
    assert {**found, "not_generated": ""} == plan
    program = CliRunner().invoke(jumar, write[1:-2])
    assert program.exit_code == 0
    compile(program.output, "train.py", "exec")


def test_a_plan_that_no_command_proves_is_shown_and_not_recommended() -> None:
    result = app.parallel(app.ParallelRequest(model="llama-7b", cp=2, offload=True))
    assert result.result.commands == []
    assert "no plan is recommended: `" in result.text
    assert "not generated, not recommended: context parallel is modelled, but not generated" in result.text
    assert "start it" not in result.text
    usual = app.parallel(app.ParallelRequest(model="llama-7b"))
    assert not any(plan.plan.cp > 1 or plan.plan.offload for plan in usual.plans)


def test_what_does_not_fit_may_fit_with_what_is_not_generated() -> None:
    result = app.parallel(app.ParallelRequest(model="llama3-8b", cards=32, seq=262144, global_batch=4, tp=8, pp=1))
    assert not result.fits
    assert "but is not generated" in dict(result.result.answers)["does it fit?"][0]


def test_shown_columns_add_up() -> None:
    for model, cards in (("llama-7b", 16), ("gpt3-13b", 24)):
        for plan in app.parallel(app.ParallelRequest(model=model, cards=cards, global_batch=cards * 2, top=20)).plans:
            stage = max(plan.memory, key=lambda memory: memory.total)
            cells = report.tenths([getattr(stage, kind) for kind in report.KINDS])
            assert f"{sum(map(float, cells)):.1f}" == report.gib(stage.total)


def test_a_proof_of_a_few_layers_keeps_the_dense_ones() -> None:
    net = models.preset("mixtral-8x7b").with_(dense_layers=3, dense_inner=14336, layers=40, attention="flash")
    search = _search(net, 32, 4)
    for request in (PlanRequest(32, pp=4, schedule="1f1b"), PlanRequest(32, pp=4, schedule="interleaved")):
        answer = search.run(request)
        found = answer.best or answer.leanest
        assert found is not None
        small, chosen, shrunk = prove.shrink(search, found, None)
        assert shrunk and small.net.dense_layers == 3
        assert sum(chosen.layers) == small.depth == small.net.layers - 3
        assert min(chosen.layers) >= found.plan.chunks


def test_plans_that_change_nothing_are_not_possible() -> None:
    """A shard of level 3 without recompute does the same as one of level 1 in MindSpore."""
    space = _search(models.preset("llama-7b"), 8, 1).space
    assert space.possible(Plan(8, 1, 1, shard=1)) and space.possible(Plan(8, 1, 1, shard=3, recompute="full"))
    assert not space.possible(Plan(8, 1, 1, shard=3))
    assert not space.possible(Plan(2, 1, 4, micro_batches=2)) and not space.possible(Plan(3, 1, 1))


@pytest.mark.parametrize(("wish", "message"), [
    (PlanRequest(6, cp=3), "context parallel 3 cannot divide 2048 tokens"),
    (PlanRequest(8, pp=4, micro_batches=2), "4 stages need at least 4 micro-batches, not 2"),
])  # fmt: skip
def test_requests_that_no_plan_meets_are_told(wish: PlanRequest, message: str) -> None:
    with pytest.raises(UserError, match=message):
        _search(models.preset("llama-7b"), 12, 1).run(wish)


def test_context_parallel_divides_activations_and_offload_takes_them_away() -> None:
    net = models.preset("llama-7b").with_(attention="flash", seq=16384, input_bytes=16384 * 8)
    search = Search(net, Job(1), hardware.find("910B3", {}))
    found = [search.evaluate(plan, search.hardware.usable) for plan in (
        Plan(1, 8, 1), Plan(1, 8, 1, cp=2), Plan(1, 8, 1, offload=True), Plan(1, 8, 1, shard=1, cp=2),
    )]  # fmt: skip
    alone, divided, away, sharded = (row for row in found if row)
    assert divided.plan.cards == 16 and divided.time.compute < 0.6 * alone.time.compute
    assert divided.memory[0].activations < 0.6 * alone.memory[0].activations
    assert divided.memory[0].weights == alone.memory[0].weights > 1.99 * sharded.memory[0].weights
    assert away.memory[0].activations < alone.memory[0].activations and away.time.total >= alone.time.total
    assert search.clock.volume(divided.plan, (32,), 0).context > 0 == search.clock.volume(alone.plan, (32,), 0).context
