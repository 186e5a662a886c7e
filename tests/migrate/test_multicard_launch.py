"""`run_distributed_npu.sh` really runs here, with small Python programs in place of a training script."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jumar.migrate.passes.multicard import hooks

SHOW = """
import json, os, sys
names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS")
print(json.dumps({**{name: os.environ.get(name) for name in names}, "args": sys.argv[1:],
                  "cores": sorted(os.sched_getaffinity(0))}))
"""
FAIL = """
import os, sys, time
if os.environ["RANK"] == "1":
    sys.exit(7)
time.sleep(60)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    name, data = hooks.launcher()
    path = tmp_path / name
    path.write_bytes(data)
    return path


def run(script: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("ASCEND", "MASTER", "OMP"))}
    return subprocess.run(
        ["bash", str(script), *arguments],
        cwd=script.parent,
        env={**clean, "PYTHON": sys.executable, **environment},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def shown(folder: Path, rank: int) -> dict[str, object]:
    loaded: dict[str, object] = json.loads((folder / f"rank_{rank}.log").read_text())
    return loaded


def test_each_process_gets_its_rank_and_all_arguments(script: Path) -> None:
    (script.parent / "show.py").write_text(SHOW)
    done = run(script, "-n", "2", "-l", "out", "-p", "29777", "show.py", "--name", "two words")
    assert done.returncode == 0, done.stderr
    for rank in range(2):
        one = shown(script.parent / "out", rank)
        assert (one["RANK"], one["LOCAL_RANK"], one["WORLD_SIZE"]) == (str(rank), str(rank), "2")
        assert (one["MASTER_ADDR"], one["MASTER_PORT"]) == ("127.0.0.1", "29777")
        assert one["args"] == ["--name", "two words"]
    assert '"RANK": "0"' in done.stdout and '"RANK": "1"' not in done.stdout


def test_cards_default_to_the_visible_ones_and_the_port_is_free(script: Path) -> None:
    (script.parent / "show.py").write_text(SHOW)
    done = run(script, "show.py", ASCEND_RT_VISIBLE_DEVICES="0,2,5")
    assert done.returncode == 0, done.stderr
    ones = [shown(script.parent / "logs", rank) for rank in range(3)]
    assert {one["WORLD_SIZE"] for one in ones} == {"3"}
    assert len({one["MASTER_PORT"] for one in ones}) == 1 and int(str(ones[0]["MASTER_PORT"])) > 0


def test_each_process_is_bound_to_its_own_cores(script: Path) -> None:
    mine = sorted(os.sched_getaffinity(0))
    if shutil.which("taskset") is None or len(mine) < 2:
        pytest.skip("needs taskset and two cores")
    (script.parent / "show.py").write_text(SHOW)
    assert run(script, "-n", "2", "show.py").returncode == 0
    first, second = (shown(script.parent / "logs", rank)["cores"] for rank in range(2))
    assert isinstance(first, list) and isinstance(second, list)
    assert len(first) == len(second) == len(mine) // 2 and not set(first) & set(second)
    assert run(script, "-n", "2", "-b", "none", "show.py").returncode == 0
    assert shown(script.parent / "logs", 1)["cores"] == mine


def test_the_exit_code_of_the_failing_process_comes_back_and_the_others_end(script: Path) -> None:
    (script.parent / "fail.py").write_text(FAIL)
    start = time.monotonic()
    done = run(script, "-n", "3", "fail.py")
    assert done.returncode == 7
    assert time.monotonic() - start < 40
    assert "ended with exit code 7" in done.stderr


@pytest.mark.parametrize("arguments", [(), ("-n", "two", "show.py"), ("-n", "0", "show.py"), ("-x", "show.py")])
def test_wrong_use_is_refused(script: Path, arguments: tuple[str, ...]) -> None:
    assert run(script, *arguments).returncode == 2


def test_help_names_the_options_and_the_torchrun_line(script: Path) -> None:
    done = run(script, "-h")
    assert done.returncode == 0
    assert "-n  number of cards" in done.stdout
    assert "torchrun --standalone --nproc_per_node=CARDS" in script.read_text()


def test_shellcheck_finds_nothing(script: Path, shellcheck: str) -> None:
    done = subprocess.run([shellcheck, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
