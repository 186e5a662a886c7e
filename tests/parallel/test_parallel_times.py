"""Modelled times: links of a machine, what hides behind computing, and published runs."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import pytest

from jumar.core.compat import tomllib
from jumar.core.errors import UserError
from jumar.parallel import error, hardware, models
from jumar.parallel.plan import Job, Plan
from jumar.parallel.search import Search

BENCH = Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import parallel_times  # noqa: E402

CONSTANTS = {"link_share": 1.0, "hccs": 200.0, "roce": 25.0, "hccs_latency": 1e-9, "roce_latency": 1e-9}
DATA = tomllib.loads(parallel_times.TABLE.read_text(encoding="utf-8"))
MACHINES = tomllib.loads(parallel_times.MACHINES.read_text(encoding="utf-8"))["machines"]


def test_a_ring_over_nodes_uses_the_port_of_every_card() -> None:
    machine = hardware.find("910B3", CONSTANTS)
    assert machine.link(8, 1).speed == 200e9
    assert machine.link(64, 1).speed == 200e9  # eight ports of 25 GB/s
    assert machine.link(64, 4).speed == 50e9  # two cards of the group in a node
    assert machine.link(64, 8).speed == machine.link(64, 8).port == 25e9
    assert machine.link(64, 1).one_pass(64e9) == pytest.approx(63 / 200, rel=1e-6)


def test_an_exchange_over_nodes_uses_one_port() -> None:
    machine = hardware.find("910B3", CONSTANTS)
    assert machine.link(64, 1).exchange(64e9) == pytest.approx(56 / 25, rel=1e-6)
    assert machine.link(8, 1).exchange(8e9) == pytest.approx(7 / 200, rel=1e-6)
    assert machine.link(1, 1).exchange(8e9) == 0


def test_a_superpod_has_hccs_between_its_machines() -> None:
    machine = hardware.find("910_9391", CONSTANTS)
    assert machine.link(128, 1).members == 128
    assert machine.link(768, 1).members == 384


def test_hidden_exchange_makes_wide_expert_parallel_cheap() -> None:
    net = models.preset("mixtral-8x7b").with_(experts=64, attention="flash")
    plan = Plan(dp=64, tp=1, pp=1, micro_batches=1, shard=1, recompute="full", ep=64)
    shown, hidden = (
        Search(net, Job(64), hardware.find("910B3", {"exchange_overlap": share})).clock.time(plan, (32,))[0]
        for share in (0.0, 1.0)
    )
    assert hidden.tensor == 0 < shown.tensor
    assert hidden.compute == shown.compute


def test_constants_are_checked() -> None:
    with pytest.raises(UserError, match="`hccs` must be greater than 0"):
        hardware.find("910B3", {"hccs": 0.0})
    with pytest.raises(UserError, match="`exchange_overlap` must be greater than 0"):
        hardware.find("910B3", {"exchange_overlap": -1.0})


def test_only_chips_with_published_runs_have_a_bar() -> None:
    bar = error.times("A2")
    assert bar and bar.runs > 40 and bar.lowest < 1 < bar.highest
    assert error.times("A3") is None


@pytest.mark.parametrize("group", DATA["groups"])
def test_published_runs_take_about_as_long_as_modelled(group: str) -> None:
    rows = [parallel_times.row(run, DATA["groups"], MACHINES) for run in DATA["run"] if run["group"] == group]
    ratios = [row["ratio"] for row in rows]
    assert 0.8 < statistics.median(ratios) < 1.25
    assert sum(0.7 < ratio < 1.43 for ratio in ratios) >= 0.85 * len(ratios)
