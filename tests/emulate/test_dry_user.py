"""The dry run as a user meets it: data loaders, launchers, knobs, looks at values, a card that is too small."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

PROGRAM = str(Path(__file__).parent / "programs" / "dry_user.py")
pytestmark = pytest.mark.slow


class Done(NamedTuple):
    code: int
    said: dict[str, Any]
    err: str


def _dry(folder: Path, *words: str) -> Done:
    environ = {**os.environ, "JUMAR_EMULATE": "1", "JUMAR_EXPLAIN": "0"}
    environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environ["PATH"]])
    call = [sys.executable, "-m", "jumar", "run", "--dry", *words]
    done = subprocess.run(call, env=environ, cwd=folder, capture_output=True, text=True, check=False, timeout=900)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return Done(done.returncode, json.loads(lines[-1]) if lines else {}, done.stderr)


def test_products_of_the_guides_program_are_counted(emulator: None, tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "dry-run.md").read_text(encoding="utf-8")
    (tmp_path / "train.py").write_text(guide.partition("```python\n")[2].partition("```")[0])
    done = _dry(tmp_path, "--report", "dry.json", "train.py")
    assert done.code == 0, done.err
    (rank,) = json.loads((tmp_path / "dry.json").read_text(encoding="utf-8"))["ranks"]
    layers, rows, width = 8, 512, 4096
    assert rank["step"]["operations"] == (3 * layers - 1) * 2 * rows * width**2, (
        "the first layer's input has no gradient"
    )
    assert 0.02 < rank["step"]["mfu"] < 1


def test_synthetic_reads_one_sample(emulator: None, tmp_path: Path) -> None:
    whole = _dry(tmp_path, PROGRAM)
    short = _dry(tmp_path, "--synthetic", PROGRAM)
    assert (whole.said["reads"], short.said["reads"]) == (24, 1), short.err
    assert short.said["peak"] == whole.said["peak"]
    assert "data loader repeats one sample: Sums, batch 8, 3 times" in short.err


def test_launchers_start_one_rank_of_many(emulator: None, tmp_path: Path) -> None:
    torchrun = _dry(tmp_path, "--rank", "9", "torchrun", "--nnodes", "2", "--nproc_per_node", "8", PROGRAM)
    assert (torchrun.said["world"], torchrun.said["local_rank"]) == (16, None), torchrun.err
    assert "dry run of rank 9 of 16" in torchrun.err
    deepspeed = _dry(tmp_path, "--rank", "3", "deepspeed", "--num_gpus=4", PROGRAM)
    assert (deepspeed.said["world"], deepspeed.said["local_rank"]) == (4, 3), deepspeed.err


@pytest.mark.skipif(importlib.util.find_spec("accelerate") is None, reason="accelerate is not installed")
def test_accelerate_sets_its_own_variables(emulator: None, tmp_path: Path) -> None:
    words = ["accelerate", "launch", "--num_processes", "4", "--mixed_precision", "bf16", PROGRAM]
    done = _dry(tmp_path, *words, "--habit", "accelerate")
    found = {name: done.said.get(name) for name in ("world", "accelerate", "precision")}
    assert found == {"world": 4, "accelerate": 4, "precision": "bf16"}, done.err


def test_the_largest_batch_that_fits_is_found(emulator: None, tmp_path: Path) -> None:
    report = tmp_path / "dry.json"
    words = ["--memory", "1G", "--fit", "batch-size=1024..65536", "--report", str(report), PROGRAM, "--width", "1024"]
    done = _dry(tmp_path, "--synthetic", *words)
    line = next(line for line in done.err.splitlines() if "is the largest value that fits" in line)
    best = int(line.split()[2])
    assert 1024 < best < 65536
    found = json.loads(report.read_text(encoding="utf-8"))["ranks"][0]
    assert found["fits"] and found["memory"]["reserved"] > 0.8 * (1 << 30)


def test_values_are_given_and_loops_that_wait_for_them_end(emulator: None, tmp_path: Path) -> None:
    source = Path(PROGRAM).read_text(encoding="utf-8").splitlines()
    line = next(at for at, text in enumerate(source, 1) if "logits[logits" in text)
    rows = _dry(tmp_path, "--exact", "16", "--value", f"dry_user.py:{line}=5", PROGRAM, "--habit", "rows")
    assert rows.said["rows"] == 5, rows.err
    stuck = _dry(tmp_path, "--exact", "16", PROGRAM, "--habit", "wait")
    assert stuck.code == 1
    assert "times at values that are not computed" in stuck.err and "--value FILE:LINE=NUMBER" in stuck.err


def test_torchs_own_trackers_agree(emulator: None, tmp_path: Path) -> None:
    """Memory by owner and in all, and the number of collectives."""
    report = tmp_path / "dry.json"
    program = str(Path(PROGRAM).with_name("dry_trackers.py"))
    done = _dry(tmp_path, "--steps", "0", "--world", "2", "--report", str(report), program)
    found, peak = json.loads(report.read_text(encoding="utf-8"))["ranks"][0], done.said["peak"]
    owners = found["memory"]["owners"]
    assert (owners["parameters"], owners["optimizer state"]) == (peak["Parameter"], peak["Optstate"])
    assert found["memory"]["requested"] == pytest.approx(peak["Total"], rel=0.001)
    assert {row["name"]: row["calls"] for row in found["collectives"]} == {
        "allreduce": done.said["collectives"]["all_reduce"]
    }


def test_a_card_that_is_too_small_says_so_as_always(emulator: None, tmp_path: Path) -> None:
    done = _dry(tmp_path, "--memory", "1G", PROGRAM, "--width", "16384")
    assert done.code == 1
    assert "NPU out of memory. Tried to allocate" in done.err
    assert "does not fit in 1.00 GiB" in done.err
