"""The proof: what is started, how it is read, and that it can never take the machine down."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.core.errors import UserError
from jumar.parallel import hardware, models, prove
from jumar.parallel.plan import Job, Plan
from jumar.parallel.search import Search
from program_files import program_text

STANDIN = program_text(__file__, "dry_run_stand_in")


def _search(name: str = "llama-7b", batch: int = 8) -> Search:
    return Search(models.preset(name), Job(batch), hardware.find("910B3", {}))


def _program(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "standin.py"
    path.write_text(text)
    return [sys.executable, str(path)]


def test_each_stage_is_compiled_for_its_first_rank(tmp_path: Path) -> None:
    search = _search()
    found = search.evaluate(Plan(2, 2, 2, 4), search.hardware.usable)
    assert found is not None
    proven = prove.prove(search, found, _program(tmp_path, STANDIN))
    assert proven.shrunk and proven.layers == (2, 2)
    assert [(row.rank, row.compiled >> 20, row.compiled_volume) for row in proven.stages] == [
        (0, 1004, 1 << 20), (4, 1008, 1 << 20),
    ]  # fmt: skip


def test_long_pipelines_are_compiled_at_their_ends_with_what_fills_them(tmp_path: Path) -> None:
    search = _search("llama-70b", 240)
    for schedule, chunks, micro_batches, layers in (("1f1b", 1, 10, 8), ("interleaved", 2, 16, 16)):
        found = search.evaluate(Plan(2, 1, 8, 120, schedule=schedule, chunks=chunks), search.hardware.usable)
        assert found is not None
        proven = prove.prove(search, found, _program(tmp_path, STANDIN))
        assert proven.plan == found.plan.name
        assert proven.what == f"{micro_batches} of its 120 micro-batches" and sum(proven.layers) == layers
        assert proven.stages[0].stage == 0 and proven.stages[-1].stage == 7 and len(proven.stages) <= 3
        whole = prove.prove(search, found, _program(tmp_path, STANDIN), stages=[3], whole=True)
        assert whole.what == "" and [row.stage for row in whole.stages] == [3]


def _interleaved(vocab: int, micro_batches: int) -> list[Any]:
    """What four interleaved stages of a small network hold."""
    small = {"hidden": 256, "heads": 4, "kv_heads": 4, "head_dim": 64, "inner": 512, "vocab": vocab, "layers": 8}
    net = models.preset("llama-7b").with_(**small, seq=1024, input_bytes=8192, attention="flash")
    search = Search(net, Job(4 * micro_batches), hardware.find("910B3", {}))
    plan = Plan(1, 1, 4, micro_batches, schedule="interleaved", chunks=2)
    found = search.evaluate(plan, search.hardware.usable, (2, 2, 2, 2))
    assert found is not None
    return list(found.memory)


@pytest.mark.parametrize(("micro_batches", "stage", "compiled"), [
    (8, 0, 463), (8, 2, 309), (10, 0, 539), (10, 2, 382), (11, 0, 578),
])  # fmt: skip
def test_what_is_left_of_whole_rounds_is_held_too(micro_batches: int, stage: int, compiled: int) -> None:
    """MiB that the dry run of MindSpore 2.10.0 told for an interleaved pipeline of four stages."""
    assert _interleaved(1000, micro_batches)[stage].total >> 20 == pytest.approx(compiled, rel=0.06)


@pytest.mark.parametrize(("micro_batches", "compiled"), [(6, 4017), (7, 4055), (9, 5994), (11, 10106)])
def test_what_is_left_of_whole_rounds_waits_behind_the_head(micro_batches: int, compiled: int) -> None:
    """MiB that the dry run of MindSpore 2.10.0 told for the last of four interleaved stages: most of it is the loss."""
    assert _interleaved(32000, micro_batches)[3].total >> 20 == pytest.approx(compiled, rel=0.02)


@pytest.mark.parametrize(("dp", "ep", "sent"), [(4, 2, 6521856), (8, 2, 5996544)])
def test_cards_with_the_same_experts_only_exchange_tokens(dp: int, ep: int, sent: int) -> None:
    """Bytes in MindSpore 2.10.0's own list of collectives."""
    small = {"hidden": 256, "heads": 4, "kv_heads": 4, "head_dim": 64, "inner": 384, "vocab": 1000, "layers": 1}
    net = models.preset("llama-7b").with_(
        **small, seq=256, input_bytes=2048, attention="flash", experts=4, active_experts=1
    )
    search = Search(net, Job(8), hardware.find("910B3", {}))
    plan = Plan(dp, 1, 1, ep=ep)
    found = search.evaluate(plan, search.hardware.usable)
    assert found is not None
    assert sum(search.clock.volume(plan, found.layers, 0)) == pytest.approx(sent, rel=2e-3)


def test_fewer_micro_batches_have_the_memory_of_all() -> None:
    search = _search("llama-7b", 96)
    for plan in (Plan(2, 1, 4, 48), Plan(1, 2, 4, 30, schedule="interleaved", chunks=2), Plan(2, 2, 1, 24)):
        rows = search.job.global_batch // plan.dp // plan.micro_batches * plan.dp * plan.micro_batches
        whole = Search(search.net, Job(rows), search.hardware)
        found = whole.evaluate(plan, search.hardware.usable)
        assert found is not None
        _, short = prove.shorten(whole, found)
        assert short.plan.micro_batches < plan.micro_batches
        wanted = [memory.total for memory in found.memory]  # but for the samples of the step
        assert [memory.total for memory in short.memory] == pytest.approx(wanted, rel=1e-3)


def test_network_that_does_not_compile_is_told(tmp_path: Path) -> None:
    search = _search()
    found = search.evaluate(Plan(1, 8, 1), search.hardware.usable)
    assert found is not None
    with pytest.raises(UserError, match="MindSpore did not compile `tp8`: RuntimeError: bad shard"):
        prove.prove(search, found, _program(tmp_path, "raise RuntimeError('bad shard')"))


def test_plans_that_the_network_cannot_follow_are_refused(tmp_path: Path) -> None:
    search = _search("resnet-50")
    found = search.evaluate(Plan(8, 1, 1), search.hardware.usable)
    assert found is not None
    with pytest.raises(UserError, match="cannot prove `dp8`"):
        prove.prove(search, found, _program(tmp_path, STANDIN))


def test_too_much_memory_ends_the_dry_run(tmp_path: Path) -> None:
    hog = "import time\nkept = bytearray(300 << 20)\ntime.sleep(600)\n"
    with pytest.raises(UserError, match="the dry run was stopped: it used 0"):
        prove.watched(_program(tmp_path, hog), tmp_path, {}, 600, 100 << 20)
    with pytest.raises(UserError) as told:
        prove.watched(_program(tmp_path, hog), tmp_path, {}, 600, 100 << 20, 3 << 30)
    assert "no fewer layers, and MindSpore holds 3.0 GiB of zeros" in str(told.value.hint)


def test_too_much_time_ends_the_dry_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the dry run was stopped after 0 s"):
        prove.watched(_program(tmp_path, "import time\ntime.sleep(600)\n"), tmp_path, {}, 0.1, 1 << 40)


@pytest.mark.parametrize(("name", "plan", "batch"), [
    ("mlp-8x1024", Plan(8, 1, 1), 65536),
    pytest.param("mlp-8x1024", Plan(4, 1, 2, 4), 65536, marks=pytest.mark.slow),
    pytest.param("llama-7b", Plan(2, 4, 1, 1, 1), 2, marks=pytest.mark.slow),
])  # fmt: skip
def test_prediction_holds_against_the_real_compiler(mindspore: str, name: str, plan: Plan, batch: int) -> None:
    search = _search(name, batch)
    found = search.evaluate(plan, search.hardware.usable)
    assert found is not None
    starter = [sys.executable, "-m", "jumar", "run", "--python", mindspore]
    proven = prove.prove(search, found, starter, depth=None if name.startswith("mlp") else 2)
    assert all(abs(row.error) < 0.10 for row in proven.stages)


def test_a_dry_run_ends_with_the_one_who_asked(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        f"import os, time\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    )
    asking = (
        "import sys, pathlib\nfrom jumar.parallel import prove\n"
        f"prove.watched([sys.executable, {str(program)!r}], pathlib.Path({str(tmp_path)!r}), {{}}, 600, 1 << 40)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", asking])
    pid = tmp_path / "pid"
    try:
        _until(lambda: pid.exists() and pid.read_text())
    finally:
        process.terminate()
        process.wait()
    _until(lambda: not Path("/proc", pid.read_text(), "cmdline").exists())


def _until(true: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)
