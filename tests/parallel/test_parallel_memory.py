"""The memory model against peaks that MindSpore's own compiler gave, and what must hold for any plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jumar.parallel import hardware, models
from jumar.parallel.architecture import BYTES, Picture
from jumar.parallel.memory import Model
from jumar.parallel.network import Network
from jumar.parallel.plan import Job, Plan
from jumar.parallel.search import Search

ROWS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("compiled.json").read_text())["rows"]
MIB = 1 << 20
LLAMA = {
    "family": "llama", "layers": 32, "hidden": 4096, "inner": 11008, "heads": 32, "kv_heads": 32, "head_dim": 128,
    "vocab": 32000, "seq": 2048, "norm": "rms", "position": "rope", "activation": "swiglu", "attention": "plain",
    "computed": "bfloat16", "kept": "float32",
}  # fmt: skip


def _network(row: dict[str, Any]) -> Network:
    words: dict[str, Any] = {key: row.get(key, value) for key, value in LLAMA.items()}
    if words["family"] == "mlp":
        words |= {"seq": 1, "heads": 0, "input_bytes": words["hidden"] * BYTES[words["computed"]]}
    elif words["family"] == "vit":
        words["picture"] = Picture(*row["picture"])
        words["input_bytes"] = words["picture"].bytes
    else:
        words["input_bytes"] = words["seq"] * 8
    return Network(name="recorded", source="", bias=row.get("bias", False), tied=row.get("tied", False), **words)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(f"{k}={v}" for k, v in row.items() if "_mib" not in k))
def test_prediction_is_close_to_what_was_compiled(row: dict[str, Any]) -> None:
    net = _network(row)
    plan = Plan(**{key: row[key] for key in Plan._fields if key in row})
    search = Search(net, Job(row.get("global_batch", 1), row.get("optimizer", "adam")), hardware.find("910B3", {}))
    layers = (net.layers // plan.pp,) * plan.pp
    stage = row["rank"] * plan.pp // plan.cards
    assert search.model.memory(plan, layers)[stage].total / MIB == pytest.approx(row["compiled_mib"], rel=0.07)
    assert sum(search.clock.volume(plan, layers, stage)) / MIB == pytest.approx(row["sent_mib"], rel=0.05)


def _peak(plan: Plan, batch: int = 8, **changes: Any) -> int:
    net = models.preset("llama-7b").with_(**changes) if changes else models.preset("llama-7b")
    return Model(net, Job(batch)).memory(plan, (net.layers // plan.pp,) * plan.pp)[0].total


def test_each_knob_saves_memory() -> None:
    base = _peak(Plan(8, 1, 1))
    assert _peak(Plan(8, 1, 1, shard=1)) < base
    assert _peak(Plan(8, 1, 1, shard=3)) == _peak(Plan(8, 1, 1, shard=1))
    assert _peak(Plan(8, 1, 1, shard=3), framework="torch") < _peak(Plan(8, 1, 1, shard=1), framework="torch")
    split = Plan(1, 8, 1)
    assert _peak(split._replace(recompute="full")) < _peak(split._replace(recompute="selective")) < _peak(split)
    assert _peak(Plan(4, 2, 1)) < base
    assert _peak(Plan(1, 8, 1, sequence=True)) < _peak(Plan(1, 8, 1))
    assert _peak(split, attention="flash") < _peak(split)


def test_gradients_alone_can_decide() -> None:
    """A trial's dry run gave 128,526 MiB for dp8 with recompute: no activation matters there."""
    found = Model(models.preset("llama-7b"), Job(8)).memory(Plan(8, 1, 1, recompute="full"), (32,))[0]
    assert found.total / MIB == pytest.approx(128526, rel=0.01)


def test_memory_grows_with_the_batch_and_gpipe_holds_every_micro_batch() -> None:
    assert _peak(Plan(1, 8, 1), batch=16) > _peak(Plan(1, 8, 1), batch=8)
    plan = Plan(1, 2, 4, micro_batches=8)
    assert _peak(plan._replace(schedule="gpipe")) > _peak(plan)


def test_first_stage_of_1f1b_holds_more_than_the_last() -> None:
    model = Model(models.preset("llama-7b"), Job(16))
    stages = model.memory(Plan(1, 2, 4, micro_batches=16), (8, 8, 8, 8))
    assert [stage.in_flight for stage in stages] == [4, 3, 2, 1]
    assert stages[0].total > stages[-1].total


def test_parts_of_the_peak_add_up() -> None:
    for stage in Model(models.preset("llama-7b"), Job(8)).memory(Plan(2, 2, 2, 4, 1, "full"), (16, 16)):
        assert stage.total == sum(stage[:6])
        assert min(stage[:6]) >= 0


def test_optimizers_differ_in_state_and_in_when_they_run() -> None:
    """MindSpore's SGD has two tensors for each weight, and Momentum does not wait for all gradients."""
    plan, net = Plan(8, 1, 1), models.preset("mlp-8x1024")
    adam, momentum, sgd = (
        Model(net, Job(8, name)).memory(plan, (8,))[0] for name in ("adam", "momentum", "sgd")
    )  # fmt: skip
    assert adam.optimizer == sgd.optimizer == 2 * momentum.optimizer
    assert momentum.gradients < adam.gradients


def test_pytorch_reduces_layer_by_layer() -> None:
    """DDP has one set of gradients, FSDP2 its share of them; MindSpore has what goes into collectives besides."""
    net = models.preset("llama-7b")
    for plan in (Plan(8, 1, 1), Plan(8, 1, 1, shard=1)):
        eager, graph = (
            Model(net.with_(framework=name, attention="flash"), Job(8)).memory(plan._replace(recompute="full"), (32,))
            for name in ("torch", "mindspore")
        )
        assert eager[0].total < graph[0].total


def test_experts_lie_on_the_data_parallel_cards() -> None:
    """Each step of expert parallel divides their weights and state; the optimizer shard takes what is left over."""
    net = models.preset("mixtral-8x7b").with_(attention="flash")
    model = Model(net, Job(8))

    def kept(**plan: Any) -> int:
        memory = model.memory(Plan(8, 1, 1, **plan), (32,))[0]
        return memory.weights + memory.optimizer

    experts = 32 * 8 * 3 * 4096 * 14336 * 12
    whole = kept()
    assert whole - kept(ep=8) == experts * 7 // 8
    assert whole - kept(ep=2) == experts // 2
    assert kept(ep=8, shard=1) == pytest.approx(kept(ep=1, shard=1), rel=0.001)


def test_experts_exchange_tokens_and_add_up_fewer_gradients() -> None:
    net = models.preset("mixtral-8x7b").with_(attention="flash")
    clock = Search(net, Job(8), hardware.find("910B3", {})).clock
    alone, spread = (clock.volume(Plan(8, 1, 1, ep=ep), (32,), 0) for ep in (1, 8))
    assert (alone.expert, spread.expert) == (0, 4 * 32 * 2048 * 2 * 4096 * 2)
    assert alone.data - spread.data == 32 * 8 * 3 * 4096 * 14336 * 4


def test_accumulation_needs_no_pipeline_and_holds_its_gradients() -> None:
    net = models.preset("llama-7b").with_(attention="flash")
    for framework in ("mindspore", "torch"):
        model = Model(net.with_(framework=framework), Job(64))
        once, often = (model.memory(Plan(8, 1, 1, micro_batches=m), (32,))[0] for m in (1, 8))
        assert often.activations < once.activations / 4
        assert often.gradients >= net.parameters * 4


def test_a_shared_table_is_on_both_ends_of_a_pipeline() -> None:
    net = models.preset("gpt3-1.3b").with_(attention="flash")
    assert net.tied
    table = net.vocab * net.hidden * 4
    tied, own = (
        Model(net.with_(tied=tied), Job(8)).memory(Plan(1, 1, 2, 8), (12, 12))[1].weights for tied in (True, False)
    )
    assert tied == own > table


@pytest.mark.parametrize(("recompute", "masks"), [("none", 2), ("full", 3)])
def test_every_layer_has_masks_of_its_own_if_micro_batches_share_a_graph(recompute: str, masks: int) -> None:
    """Counted in dry runs of MindSpore 2.10: settings 5, 24, 36 and 45 of bench/parallel_compiled.py."""
    net = models.preset("llama-7b").with_(attention="flash", layers=8)
    plain, staged = Plan(8, 1, 1, recompute=recompute), Plan(4, 1, 2, micro_batches=2, recompute=recompute)
    assert Model(net, Job(8)).peak(plain, 0, 8).buffers == 8 * net.input_bytes + net.input_bytes + 4 * MIB
    assert Model(net, Job(8)).peak(staged, 1, 4).buffers == 4 * masks * 4 * MIB
