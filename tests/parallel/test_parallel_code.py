"""What `--code` prints really works: compiled by MindSpore's dry run, trained on emulated NPUs by torch_npu."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from jumar.core.errors import UserError
from jumar.parallel import code, code_mindspore, code_torch, hardware, models, programs, provable, prove, prove_torch
from jumar.parallel.plan import Job, Plan
from jumar.parallel.search import Found, Search
from jumar.parallel.space import PlanRequest

TINY = models.preset("llama-7b").with_(
    layers=4, hidden=256, inner=512, heads=8, kv_heads=8, head_dim=32, vocab=1024, seq=64, input_bytes=512
)
TAIL = """
import mindspore.dataset as ds
import numpy as np

ids = np.zeros((8, 64), np.int32)
model.train(1, ds.NumpySlicesDataset((ids, ids), shuffle=False).batch(8), dataset_sink_mode=False)
"""


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _found(plan: Plan, batch: int = 8, framework: str = "mindspore") -> tuple[Search, Found]:
    search = Search(TINY.with_(framework=framework), Job(batch), hardware.find("910B3", {}))
    found = search.evaluate(plan, search.hardware.usable)
    assert found is not None
    return search, found


PLANS = [Plan(8, 1, 1, shard=1, recompute="full"), Plan(2, 4, 1, sequence=True), Plan(2, 2, 2, 2, 1, "full"),
         Plan(2, 1, 2, 2, schedule="interleaved", chunks=2), Plan(2, 4, 1, recompute="selective")]  # fmt: skip


@pytest.mark.parametrize("spelling", ["new", "old"])
@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)
def test_settings_are_those_of_the_plan(plan: Plan, spelling: str) -> None:
    search, found = _found(plan)
    printed = getattr(code_mindspore, spelling)(search.net, search.job, found)
    compile(printed, "train.py", "exec")
    assert ("pipeline_stage" in printed) == (plan.pp > 1)
    assert ("pipeline_segment" in printed) == (plan.chunks > 1)
    assert ("recompute()" in printed) == (plan.recompute != "none")
    assert ("hsdp(" in printed or "enable_parallel_optimizer" in printed) == bool(plan.shard)
    assert "set_comm_fusion(" in printed and "comm_fusion" in printed


@pytest.mark.slow
@pytest.mark.parametrize("spelling", ["new", "old"])
@pytest.mark.parametrize("plan", PLANS[:3], ids=lambda plan: plan.name)
def test_printed_program_compiles(mindspore: str, tmp_path: Path, plan: Plan, spelling: str) -> None:
    search, found = _found(plan)
    given = {**code.words(search.net, search.job, found), "recomputed": [], "stage_of": [0] * 4, "segment_of": [0] * 4}
    cells = programs.network().partition("def build(")[0]
    kind = "StagedNetwork" if plan.pp > 1 else "Network"
    made = f"GIVEN = json.loads({json.dumps(given)!r})\n\n\ndef make_net(ways):\n    return {kind}(GIVEN)\n"
    (tmp_path / "network.py").write_text(cells + made)
    printed = getattr(code_mindspore, spelling)(search.net, search.job, found)
    (tmp_path / "train.py").write_text(printed + TAIL)
    variables = {"MS_SIMULATION_LEVEL": "1", "RANK_SIZE": str(plan.cards), "RANK_ID": "0", "GLOG_v": "2"}
    starter = [sys.executable, "-m", "jumar", "run", "--python", mindspore]
    output = prove.watched([*starter, str(tmp_path / "train.py")], tmp_path, variables, 600, 16 << 30)
    compiled = prove.PEAK.search(output)
    assert compiled, prove.reason_in(output)
    assert int(compiled[1]) > 0


@pytest.mark.parametrize(("plan", "words"), [
    (Plan(8, 1, 1), ("DistributedDataParallel(", "autocast")),
    (Plan(8, 1, 1, shard=3), ("fully_shard(block", "reshard_after_forward=True")),
    (Plan(2, 4, 1, shard=1, sequence=True), ("SequenceParallel()", "fully_shard(model", "groups.setdefault")),
    (Plan(1, 8, 1, recompute="full"), ("checkpoint_wrapper(block)", "RowwiseParallel(")),
    (Plan(2, 4, 1), ("_pre_dp_module_transform(model)", "DistributedDataParallel(")),
], ids=lambda value: value.name if isinstance(value, Plan) else "")  # fmt: skip
def test_program_for_pytorch_is_that_of_the_plan(plan: Plan, words: tuple[str, ...]) -> None:
    search, found = _found(plan, framework="torch")
    printed = code_torch.program(search.net, search.job, found)
    compile(printed, "train.py", "exec")
    assert all(word in printed for word in words)


def test_only_plans_that_can_be_proved_are_recommended() -> None:
    search, found = _found(Plan(2, 1, 2, 2), framework="torch")
    assert provable.reason(search.net, found.plan) == "pipelines of PyTorch are modelled, but not run"
    answer = search.run(PlanRequest(4))
    assert {row.plan.pp for row in answer.fitting} == {1}
    assert answer.left_out["pipelines of PyTorch are modelled, but not run"] > 0
    every = search.run(PlanRequest(4, unproved=True))
    assert every.looked > answer.looked
    assert not every.left_out


def test_proof_of_pytorch_is_a_dry_run_of_the_whole_plan(tmp_path: Path) -> None:
    """A stand-in for `jumar run --dry` says what the first rank would have measured."""
    program = tmp_path / "dry.py"
    program.write_text(
        "import json, sys\nfrom pathlib import Path\ngiven = json.loads(Path('words.json').read_text())\n"
        "assert sys.argv[1:5] == ['--world', '64', '--rank', '0'], sys.argv\n"
        "peaks = {'forward': 1, 'backward': (100 + 10 * given['layers']) << 20}\n"
        "Path('rank_0.json').write_text(json.dumps({'peaks': peaks, 'volume': given['micro_batches'] << 20}))\n"
    )
    search, _ = _found(Plan(2, 1, 1), framework="torch")
    deep = Search(search.net.with_(layers=12), Job(256), search.hardware)
    chosen = deep.evaluate(Plan(16, 4, 1, 8), deep.hardware.usable)
    assert chosen is not None
    whole = prove_torch.prove(deep, chosen, [sys.executable, str(program)])
    assert [(row.layers, row.compiled >> 20, row.compiled_volume >> 20) for row in whole.stages] == [(12, 220, 3)]
    assert (whole.shrunk, whole.by, whole.what) == (False, "dry run", "64 cards, 96 samples a step")
    part = prove_torch.prove(deep, chosen, [sys.executable, str(program)], depth=4)
    assert part.shrunk and part.stages[0].compiled >> 20 == 140
    assert part.stages[0].predicted < whole.stages[0].predicted


@pytest.mark.slow
def test_experts_train_alike_on_any_cards(mindspore: str, tmp_path: Path) -> None:
    """Four data-parallel cards hold all experts, half of them or a quarter: the same losses, and they fall."""
    net = models.preset("llama-7b").with_(
        hidden=128, heads=4, kv_heads=2, head_dim=32, inner=64, vocab=512, layers=2, seq=64, input_bytes=512,
        experts=8, active_experts=2, attention="plain", computed="float32",
    )  # fmt: skip
    search = Search(net, Job(8), hardware.find("910B3", {}))
    losses = []
    for ep in (1, 2, 4):
        found = search.evaluate(Plan(4, 1, 1, ep=ep), search.hardware.usable)
        assert found is not None
        folder = tmp_path / str(ep)
        folder.mkdir()
        (folder / "train.py").write_text(code.network(net, search.job, found), encoding="utf-8")
        program = shutil.copy(Path(__file__).parent / "programs" / "train_network.py", folder)
        words = ["msrun", "--worker_num=4", "--local_worker_num=4", "--join=True", "--log_dir=logs",
                 f"--master_port={_free_port()}", program]  # fmt: skip
        subprocess.run(
            [sys.executable, "-m", "jumar", "run", "--cards", "4", "--python", mindspore, *words],
            cwd=folder, check=True, timeout=900, env={**os.environ, "JUMAR_MACHINE": f"experts-{os.getpid()}-{ep}"},
        )  # fmt: skip
        told = (folder / "logs" / "worker_0.log").read_text(encoding="utf-8")
        losses.append([float(word) for word in re.findall(r"^loss (\S+)", told, re.MULTILINE)])
    assert len(losses[0]) == 3 and losses[0][0] > losses[0][1] > losses[0][2]
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    assert losses[2] == pytest.approx(losses[0], rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("plan", [
    Plan(8, 1, 1, shard=3), Plan(1, 8, 1, sequence=True), Plan(1, 8, 1), Plan(2, 4, 1, shard=3, sequence=True),
], ids=lambda plan: plan.name)  # fmt: skip
def test_plan_for_pytorch_holds_in_a_dry_run(emulator: None, plan: Plan) -> None:
    """At the width of a real network."""
    net = models.preset("llama-7b").with_(framework="torch", attention="flash", layers=4)
    search = Search(net, Job(plan.dp), hardware.find("910B3", {}))
    found = search.evaluate(plan, search.hardware.usable)
    assert found is not None
    (row,) = prove_torch.prove(search, found, [sys.executable, "-m", "jumar", "run", "--dry", "--steps", "0"]).stages
    assert abs(row.error) < 0.06
    assert row.predicted_volume == pytest.approx(row.compiled_volume, rel=0.05)


def test_a_program_that_fails_is_told(tmp_path: Path) -> None:
    program = tmp_path / "launch.py"
    program.write_text("raise RuntimeError('no such device')\n")
    search, found = _found(Plan(2, 1, 1), framework="torch")
    with pytest.raises(UserError, match="failed: RuntimeError: no such device"):
        prove_torch.prove(search, found, [sys.executable, str(program)])
