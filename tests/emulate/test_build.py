"""The glue is built once, by one process, and says clearly when it cannot be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from running import Run

_USE = "import torch; print(torch.ones(2).npu().sum().item())"


def test_missing_compiler_names_the_package(run: Run, tmp_path: Path) -> None:
    done = run(_USE, check=False, CXX="no-such-compiler", JUMAR_CACHE=str(tmp_path))
    assert "`no-such-compiler` was not found" in done.stderr
    assert "hint: sudo apt install g++" in done.stderr


def test_cache_that_cannot_be_written(run: Run) -> None:
    done = run(_USE, check=False, JUMAR_CACHE="/proc/nowhere")
    assert "cannot use the cache `/proc/nowhere" in done.stderr
    assert "JUMAR_CACHE" in done.stderr


def test_full_disk_leaves_nothing_half_built(run: Run, tmp_path: Path) -> None:
    compiler = tmp_path / "full-disk"
    compiler.write_text("#!/bin/sh\necho 'fatal error: error writing to x.s: No space left on device' >&2\nexit 1\n")
    compiler.chmod(0o755)
    done = run(_USE, check=False, CXX=str(compiler), JUMAR_CACHE=str(tmp_path / "cache"))
    assert "No space left on device" in done.stderr
    assert [path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()] == ["lock"]


def test_a_killed_first_start_takes_its_compiler_along(emulator: None, machine: str, tmp_path: Path) -> None:
    compiler, started = tmp_path / "slow-compiler", tmp_path / "pid"
    compiler.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > {started}.part\nmv {started}.part {started}\nwait\n")
    compiler.chmod(0o755)
    variables = {**os.environ, "JUMAR_EMULATE": "1", "JUMAR_MACHINE": machine}
    variables |= {"JUMAR_CACHE": str(tmp_path / "cache"), "CXX": str(compiler)}
    first = subprocess.Popen([sys.executable, "-c", _USE], env=variables, stderr=subprocess.DEVNULL)
    _wait_for(started.exists)
    grandchild = int(started.read_text())
    first.send_signal(signal.SIGKILL)
    first.wait()
    _wait_for(lambda: not Path(f"/proc/{grandchild}/exe").exists())


def _wait_for(done: Callable[[], bool]) -> None:
    until = time.monotonic() + 600  # a busy machine takes its time
    while not done():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.slow
def test_several_processes_build_once(emulator: None, machine: str, tmp_path: Path) -> None:
    variables = {**os.environ, "JUMAR_EMULATE": "1", "JUMAR_MACHINE": machine, "JUMAR_CACHE": str(tmp_path)}
    started = [
        subprocess.Popen([sys.executable, "-c", _USE], env=variables, stdout=-1, stderr=-1, text=True) for _ in range(3)
    ]
    results = [process.communicate(timeout=3600) for process in started]
    assert [out for out, _ in results] == ["2.0\n"] * 3
    assert sum("building the emulator" in err for _, err in results) == 1
