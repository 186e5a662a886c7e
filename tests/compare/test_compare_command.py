"""The command as a user types it: a recorded program, the emulated card, reports, wrong words."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.emulate import env
from program_files import program_text

EXAMPLE = Path(__file__).parents[2] / "examples" / "compare" / "train.py"
Jumar = Callable[..., Any]


def _program(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    machine = f"test-{uuid.uuid4().hex[:12]}"
    done = subprocess.run(
        [sys.executable, "-m", "jumar", "compare", *map(str, words)],
        env={**os.environ, "JUMAR_MACHINE": machine, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,
    )
    for path in Path("/dev/shm").glob(f"jumar-*-{machine}"):
        path.unlink()
    return done


def _needs_the_emulator() -> None:
    if importlib.util.find_spec("torch_npu") is None or not list(env.library_dir().glob("lib*.so")):
        pytest.skip("the emulator is not there: pip install '.[emulator]'")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example on the CPU and, with its mistake, on the emulated card."""
    _needs_the_emulator()
    folder = tmp_path_factory.mktemp("records")
    plain = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    cpu = _program(
        "record", "-o", folder / "cpu", "--steps", 1, "--floor", 1, "--stop", 2, "--", "python", EXAMPLE, **plain
    )
    assert cpu.returncode == 0, cpu.stderr
    assert "3 noise runs" in cpu.stderr and cpu.stdout.startswith("step 0 loss")
    for name, extra in (("npu", []), ("tanh", ["--tanh"])):
        words = ["--device", "npu", *extra]
        npu = _program(
            "record",
            "-o",
            folder / name,
            "--steps",
            1,
            "--floor",
            0,
            "--stop",
            2,
            "--",
            EXAMPLE,
            *words,
            JUMAR_EMULATE="1",
        )
        assert npu.returncode == 0, npu.stderr
    return folder


def test_the_emulated_card_computes_the_same(records: Path, jumar: Jumar) -> None:
    done = jumar("compare", records / "cpu", records / "npu", "--json")
    assert done.code == 0, done.out
    told = json.loads(done.out)
    assert told["verdict"]["kind"] in ("same", "within") and told["b"]["device"] == "npu"
    assert len(told["operators"]) > 100


def test_the_mistake_is_found_on_the_card(records: Path, jumar: Jumar, tmp_path: Path) -> None:
    page, script = tmp_path / "page.html", tmp_path / "reproduce.py"
    done = jumar("compare", records / "cpu", records / "tanh", "--html", page, "--reproducer", script)
    assert done.code == 1
    first = done.out.splitlines()[0]
    assert first.startswith("DIFFERENT (arguments): `aten.gelu` of `Model.blocks.1`") and "none -> tanh" in first
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") >= 1 and text.count("<script") == 2 and "approximate: none -&gt; tanh" in text
    assert "torch.ops.aten.gelu.default(" in script.read_text()


def test_the_dump_command_writes_for_the_vendors_tool(records: Path, jumar: Jumar, tmp_path: Path) -> None:
    assert jumar("compare", "dump", records / "cpu", tmp_path / "dump").code == 0
    assert (tmp_path / "dump" / "step0" / "rank0" / "dump.json").is_file()
    again = jumar("compare", "dump", records / "cpu", tmp_path / "dump")
    assert again.code == 2 and "is not empty" in again.err


@pytest.mark.slow
def test_the_vendors_tool_finds_the_mistake_in_our_dumps(records: Path, jumar: Jumar, tmp_path: Path) -> None:
    tool = Path(sys.executable).with_name("msprobe")
    if not tool.exists():
        pytest.skip("msprobe is not installed: pip install mindstudio-probe")
    for name in ("cpu", "tanh"):
        assert jumar("compare", "dump", records / name, tmp_path / name).code == 0
    places = ["-tp", tmp_path / "tanh" / "step0", "-gp", tmp_path / "cpu" / "step0", "-o", tmp_path / "out"]
    alone = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    words = [tool, "compare", *places]
    said = subprocess.run(words, env=alone, capture_output=True, text=True, check=False, timeout=300)
    assert said.returncode == 0, said.stdout + said.stderr
    (table,) = (tmp_path / "out").glob("compare_result_rank0_*.csv")
    with table.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["Max diff"] not in ("N/A", "unsupported")]
    assert next(row for row in rows if abs(float(row["Max diff"])) > 1e-4)["NPU Name"] == "Aten.gelu.1.forward.output.0"


def test_overflow_says_that_there_is_none(records: Path, jumar: Jumar, tmp_path: Path) -> None:
    done = jumar("compare", "overflow", records / "npu", "--html", tmp_path / "overflow.html")
    assert "no operator makes inf or nan" in (tmp_path / "overflow.html").read_text(encoding="utf-8")
    assert (done.code, done.out) == (0, "no operator makes inf or nan in the recorded steps of 1 rank\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere", "either"], "no such record: `nowhere`"),
        (["recrod", "-o", "x"], "did you mean `jumar compare record`?"),
        (["record", "-o", "x"], "no program to run"),
        (["record", "--", "python", "x.py"], "missing `--output`"),
        (["record", "-o", "x", "--tensors", "gelu", "--", "python", "x.py"], "`--tensors gelu` names no operator"),
        (["record", "-o", "x", "--", "no-such-program"], "cannot start `no-such-program`"),
        ([".", ".", "--precision", "bf61"], "`--precision bf61` is not known"),
        ([".", "."], "`.` is not a record"),
        (["overflow", "nowhere"], "no such record"),
        (["ladder"], "no program to run"),
    ],
)
def test_wrong_words_get_a_hint(words: list[str], message: str, jumar: Jumar, tmp_path: Path,
                                monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    done = jumar("compare", *words)
    assert done.code == 2 and message in done.err, done.err
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_program_without_a_model_records_nothing(jumar: Jumar, tmp_path: Path) -> None:
    done = jumar("compare", "record", "-o", tmp_path / "rec", "--", "python", "-c", "print('hello')")
    assert done.code == 2 and "nothing was recorded: no model ran" in done.err
    assert not (tmp_path / "rec").exists()


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.slow
def test_two_ranks_write_two_records(tmp_path: Path, jumar: Jumar) -> None:
    script = tmp_path / "ranks.py"
    script.write_text(program_text(__file__, "two_ranks"))
    code = (
        "import os, subprocess, sys\n"
        "run = [subprocess.Popen([sys.executable, *sys.argv[1:]], env={**os.environ, 'RANK': str(rank),"
        " 'WORLD_SIZE': '2'}) for rank in range(2)]\n"
        "sys.exit(max(one.wait() for one in run))\n"
    )
    for name, floor, noise in (("a", 0, []), ("b", 1, ["floor-1", "floor-2", "floor-3"])):
        words = ["python", "-c", code, script, tmp_path / f"meet-{name}"]
        done = _program("record", "-o", tmp_path / name, "--floor", floor, "--", *words,
                        TORCH_DEVICE_BACKEND_AUTOLOAD="0")  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert _names(tmp_path / name) == [*noise, "rank0", "rank1"]
        assert all(_names(tmp_path / name / run) == ["rank0", "rank1"] for run in noise)
    result = jumar("compare", tmp_path / "a", tmp_path / "b")
    assert result.code == 0 and "ranks that differ: none" in result.out


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_a_fault_of_one_rank_is_blamed_and_not_the_collective(device: str, tmp_path: Path, jumar: Jumar) -> None:
    """Rank 1 has another activation; the all-reduce of gloo or HCCL brings its gradients to rank 0."""
    if device == "npu":
        _needs_the_emulator()
    cards = {"JUMAR_EMULATE": "1", "JUMAR_CARDS": "2"}
    used = cards if device == "npu" else {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    script = tmp_path / "ddp.py"
    script.write_text(program_text(__file__, "ddp"))
    torchrun = ["python", "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
    for name in ("right", "wrong"):
        done = _program("record", "-o", tmp_path / name, "--floor", 0, "--", *torchrun, script, device, name,
                        OMP_NUM_THREADS="1", **used)  # fmt: skip
        assert done.returncode == 0, done.stderr
    result = jumar("compare", tmp_path / "right", tmp_path / "wrong")
    assert result.code == 1 and "only in B: `aten.leaky_relu` of `Sequential.1`" in result.out, result.out
    assert f"B  {tmp_path / 'wrong'}: {device}," in result.out
    assert "ranks that differ: 2 of 2 (0, 1), 1 of them only after a collective; rank 1 is shown" in result.out


@pytest.mark.slow
def test_the_ladder_climbs_and_stops(tmp_path: Path) -> None:
    plain = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    base = tmp_path / "base"
    done = _program("record", "-o", base, "--steps", 2, "--stop", 3, "--", "python", EXAMPLE, **plain)
    assert done.returncode == 0, done.stderr
    page = tmp_path / "ladder.html"
    good = _program("ladder", "--base", base, "--steps", 3, "--html", page, "--", "python", EXAMPLE, **plain)
    assert "bfloat16" in page.read_text(encoding="utf-8")
    assert good.returncode == 0, good.stdout + good.stderr
    words = [line.split()[:2] for line in good.stdout.splitlines()]
    assert [state for state, _ in words] == ["passed", "passed", "told", *["passed"] * 5]
    assert "expected gap to float32: bfloat16: loss within" in good.stdout
    bad = _program("ladder", "--base", base, "--steps", 3, "--json", "--", "python", EXAMPLE, "--tanh", **plain)
    rungs = json.loads(bad.stdout)["rungs"]
    assert bad.returncode == 1 and (rungs[-1]["name"], rungs[-1]["state"]) == ("forward", "failed")
    assert "approximate: none -> tanh" in rungs[-1]["message"]
