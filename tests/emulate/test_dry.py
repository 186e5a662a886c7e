"""The dry run: words and values without torch; then, slow, programs against themselves on emulated cards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jumar.app import dry as app
from jumar.core.errors import UserError
from jumar.emulate.dry import launchers, ledger, request, values
from jumar.emulate.dry.watch import GRADIENT, GROUP, MODULE, STATE

PROGRAMS = Path(__file__).parent / "programs"


def test_torchrun_gives_its_world_and_its_program() -> None:
    words = ["torchrun", "--nnodes=64", "--nproc_per_node", "8", "--standalone", "train.py", "--lr", "1"]
    assert launchers.read(words) == (512, ("train.py", "--lr", "1"), "")
    module = ["-m", "torch.distributed.run", "--nproc-per-node=4", "-m", "package.train"]
    assert launchers.read(module) == (4, ("-m", "package.train"), "")
    assert launchers.read(["train.py", "--nnodes", "2"]) == (0, ("train.py", "--nnodes", "2"), "")


def test_other_launchers_give_theirs_and_the_option_of_the_card() -> None:
    old = ["-m", "torch.distributed.launch", "--nproc_per_node=8", "train.py"]
    assert launchers.read(old) == (8, ("train.py",), "--local-rank")
    assert launchers.read([*old[:2], "--use_env", *old[2:]]) == (8, ("train.py",), "")
    words = ["deepspeed", "--num_nodes", "4", "--num_gpus=8", "train.py", "--deepspeed", "zero.json"]
    assert launchers.read(words) == (32, ("train.py", "--deepspeed", "zero.json"), "--local_rank")
    accelerate = ["accelerate", "launch", "--multi_gpu", "--num_processes", "16", "train.py"]
    assert launchers.read(accelerate) == (16, tuple(accelerate), "")
    asked = request.DryRequest(world=32, ranks=(11,), rank_option="--local_rank")
    assert request.words(asked, 11, 8) == ("--local_rank=3",)
    assert request.words(request.DryRequest(), 0, 8) == ()


def test_torchrun_without_numbers_or_program_is_refused() -> None:
    with pytest.raises(UserError, match="a dry run needs a number"):
        launchers.read(["torchrun", "--nproc-per-node=gpu", "train.py"])
    with pytest.raises(UserError, match="torchrun has nothing to run"):
        launchers.read(["torchrun", "--standalone"])


def test_ranks_lie_in_the_world() -> None:
    assert request.checked(512, (0, 8, 8), 0) == (512, (0, 8))
    assert request.checked(None, (), 16) == (16, (0,))
    with pytest.raises(UserError, match="there is no rank 3 of 1"):
        request.checked(None, (3,), 0)


def test_a_rank_gets_the_variables_of_torchrun(tmp_path: Path) -> None:
    asked = request.DryRequest(world=512, ranks=(11,), values=("a.py:3=1",))
    found = request.environment(asked, 11, 8, tmp_path)
    wanted = {"RANK": "11", "WORLD_SIZE": "512", "LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "8", "GROUP_RANK": "1"}
    assert {name: found[name] for name in wanted} == wanted


def test_values_are_given_by_line() -> None:
    looks = values.Looks(values.parse("train.py:4=0.5;deep/eval.py:7=3"))
    assert looks.ask("aten::_local_scalar_dense", "Float", "src/train.py:4") == 0.5
    assert looks.ask("aten::_local_scalar_dense", "Float", "train.py:14") == 0.0
    assert looks.counts[("train.py:14", "aten::_local_scalar_dense", "Float")] == 1
    with pytest.raises(UserError, match="names no value of a line"):
        values.parse("train.py=4")


def test_a_line_that_looks_for_ever_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "PATIENCE", 3)
    looks = values.Looks({})
    assert [looks.ask("item", "Bool", "a.py:1") for _ in range(4)] == [0.0, 0.0, 0.0, None]
    looks.next_step()
    assert looks.ask("item", "Bool", "a.py:1") == 0.0


def _row(size: int, born: int, died: int, owners: int = 0, module: int = 0, phase: int = 0) -> ledger.Allocation:
    return ledger.Allocation(0, size, born, died, module, 1, 1 if born == 1 else 0, phase, owners, 0, 0)


def test_the_peak_knows_its_owners() -> None:
    rows = [
        _row(100, 1, 0, MODULE | GROUP),
        _row(40, 2, 6, module=2),
        _row(60, 3, 0, GRADIENT, phase=1),
        _row(30, 4, 5, phase=1),
        _row(50, 7, 0, STATE, phase=2),
    ]
    kept = ledger.Ledger(rows, ["", "aten::mm", "blocks.0.mlp"], [""], [], [8])
    found = ledger.peak(kept)
    assert found is not None
    assert (found.bytes, found.event, found.phase, found.site) == (230, 4, ledger.BACKWARD, "aten::mm")
    assert {row.owner: row.bytes for row in found.holders} == {
        ledger.PARAMETERS: 100, ledger.ACTIVATIONS: 40, ledger.GRADIENTS: 60, ledger.BACKWARDS: 30,
    }  # fmt: skip
    assert next(row.module for row in found.holders if row.owner == ledger.ACTIVATIONS) == "blocks.*.mlp"
    assert max(map(sum, zip(*ledger.picture(kept).values()))) == 230


def test_master_weights_belong_to_the_optimizer() -> None:
    assert ledger.owner(_row(1, 1, 0, GROUP), known=True) == ledger.OPTIMIZER
    assert ledger.owner(_row(1, 1, 0, GROUP), known=False) == ledger.PARAMETERS
    assert ledger.owner(_row(1, 1, 0, MODULE, module=2), known=True) == ledger.GATHERED


def test_the_last_whole_step_counts() -> None:
    kept = ledger.Ledger([], [""], ["", "a", "b"], [1, 0, 1, 2, 0, 2], [])
    assert ledger.last_step(kept) == ["a", "b"]
    assert ledger.last_step(kept._replace(sequence=[2, 1])) == ["b", "a"]


def test_an_option_of_the_program_is_replaced() -> None:
    assert app.replaced(("python", "a.py", "--batch_size", "8"), "batch-size", 3)[-1] == "3"
    assert app.replaced(("python", "a.py", "--batch-size=8"), "batch-size", 3)[-1] == "--batch-size=3"
    assert app.replaced(("python", "a.py"), "batch-size", 3)[-2:] == ("--batch-size", "3")


CASES = ("gpt", "gpt recompute", "vit", "vit recompute", "cnn", "moe", "moe recompute", "gpt ddp", "cnn ddp",
         "gpt fsdp", "gpt fsdp recompute", "gpt tp", "gpt zero")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_dry_and_emulated_runs_agree(case: str, emulator: None, tmp_path: Path) -> None:
    """Peaks within 2 %, the same operators and the same collectives in the same order."""
    if "zero" in case:
        pytest.importorskip("deepspeed", reason="DeepSpeed is not installed")
    words = [str(PROGRAMS / "dry_models.py"), *case.split()]
    many = any(word in case for word in ("ddp", "fsdp", "tp", "zero"))
    options = ["--dry", "--steps", "0", "--exact", "256", *(["--world", "2"] if many else [])]
    dry = _run(tmp_path, "run", *options, *words, trace=tmp_path / "dry")
    real = _run(tmp_path, *(["launch", "--cards", "2"] if many else ["run"]), *words, trace=tmp_path / "real")
    assert dry["peak"] == pytest.approx(real["peak"], rel=0.02)
    one, other = (json.loads((tmp_path / name / "rank-0.json").read_text(encoding="utf-8")) for name in ("dry", "real"))
    assert one["operators"] and bool(one["collectives"]) == many
    assert _names(one, case) == _names(other, case)
    assert one["collectives"] == other["collectives"]


@pytest.mark.slow
def test_a_rank_of_512_writes_its_report(emulator: None, tmp_path: Path) -> None:
    program, page, data = str(PROGRAMS / "dry_models.py"), tmp_path / "dry.html", tmp_path / "dry.json"
    options = ["--dry", "--world", "512", "--ranks", "3,511", "--report", str(page), "--report", str(data)]
    _run(tmp_path, "run", *options, program, "gpt", "fsdp")
    found = json.loads(data.read_text(encoding="utf-8"))
    assert [row["rank"] for row in found["ranks"]] == [3, 511]
    first = found["ranks"][0]
    assert first["fits"] and first["memory"]["owners"]["parameters"] > 0
    assert {row["ranks"] for row in first["collectives"]} == {512}
    assert "dry_models.py" in first["memory"]["site"]
    assert "Who holds the peak" in page.read_text(encoding="utf-8")


def _run(folder: Path, *words: str, trace: Path | None = None) -> dict[str, Any]:
    environ = {**os.environ, "JUMAR_EMULATE": "1", "JUMAR_MACHINE": folder.name}
    if trace is not None:
        environ["JUMAR_DRY_TRACE"] = str(trace)
    call = [sys.executable, "-m", "jumar", *words]
    done = subprocess.run(call, env=environ, cwd=folder, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr[-4000:]
    lines = [line[line.index("{") :] for line in done.stdout.splitlines() if '{"peak"' in line]
    return json.loads(lines[-1]) if lines else {}


def _names(found: dict[str, Any], case: str) -> list[str]:
    """Operators in their order, with the types and sizes of what went in."""
    rows = ["\t".join(row.split("\t")[:2]) for row in found["operators"]]
    if "moe" in case:  # how many tokens an expert gets is a matter of values
        return [row.split("\t")[0] for row in rows]
    return rows
