"""`jumar run --profile` on an emulated card: the folder it leaves, and that the vendor's own advisor reads it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from program_files import program_text

PROGRAM = program_text(__file__, "profiled_training")


@pytest.fixture
def profiled(emulator: None, machine: str, tmp_path: Path) -> tuple[Path, str]:
    """The folder of a run, and what the run printed."""
    (tmp_path / "train.py").write_text(PROGRAM)
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("JUMAR_SOC", "ASCEND"))}
    environment = {**clean, "JUMAR_MACHINE": machine, "JUMAR_EMULATE": "1"}
    command = [sys.executable, "-m", "jumar", "run", "--soc", "910B2", "--profile", "out", "train.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return next((tmp_path / "out").glob("*_ascend_pt")), done.stdout


def test_profile_of_an_emulated_run(profiled: tuple[Path, str]) -> None:
    from jumar.perf import analyse

    place, printed = profiled
    assert printed.count("device='npu:0'") == 4
    metadata = json.loads((place / "profiler_metadata.json").read_text())
    assert metadata["jumar"]["chip"] == "Ascend910B2" and metadata["jumar"]["ran_on"] == "emulated NPU"
    report = analyse.report(place)
    found = {(item.name, item.where) for item in report.advice}
    assert ("fusible-operators: swiglu", "train.py:8") in found
    assert ("host-synchronisation: print of a tensor", "train.py:11") in found
    assert ("host-synchronisation: copy to the host", "train.py:12") in found
    assert ("settings: jit_compile", "") in found
    assert {row.type for row in report.ranks[0].operators} >= {"MatMulV2", "Swish", "SwishGrad"}
    assert report.ranks[0].memory is not None


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("msprof_analyze") is None, reason="the vendor's msprof-analyze is not installed"
)
def test_the_vendors_advisor_reads_the_profile(profiled: tuple[Path, str], tmp_path: Path) -> None:
    tool = str(Path(sys.executable).with_name("msprof-analyze"))
    said = subprocess.run(
        [tool, "advisor", "all", "-d", profiled[0], "-o", tmp_path / "judge", "-l", "en"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert said.returncode == 0, said.stderr
    assert "The Model E2E Time is" in said.stdout
    page = next((tmp_path / "judge").glob("mstt_advisor_*.html")).read_text(encoding="utf-8")
    assert "torch_npu.optim.NpuFusedSGD" in page
