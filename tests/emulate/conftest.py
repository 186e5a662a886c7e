"""Runs programs on an emulated machine of their own, and checks that nothing of it stays behind."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ranks import Outcome, Ranks, run_ranks
from running import Run

from jumar.emulate import env

if TYPE_CHECKING:
    from stand_ins import Library


@pytest.fixture(scope="module")
def card(built: None) -> Library:
    """The stand-ins themselves, called without a framework."""
    from stand_ins import Library

    return Library()


@pytest.fixture
def numpy_kernels(built: None) -> Iterator[None]:
    """The operators that a MindSpore process computes with numpy, computed by this one."""
    from jumar.emulate.mindspore_ops import bridge

    disconnect = bridge.connect(str(env.libraries()[0]))
    yield
    disconnect()


@pytest.fixture
def machine() -> Iterator[str]:
    """A name nobody else uses: tests run at the same time must not see each other's cards."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    yield name
    left = _left(name)
    for path in left:
        path.unlink()
    assert left == []


def _left(name: str) -> list[Path]:
    """The machine's file; the last process of it may still be on its way out."""
    until = time.monotonic() + 5
    while left := list(Path("/dev/shm").glob(f"jumar-*-{name}")):
        if time.monotonic() > until:
            break
        time.sleep(0.05)
    return left


@pytest.fixture
def run(emulator: None, machine: str) -> Run:
    def call(
        program: str, check: bool = True, limit: float = 900, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("JUMAR_SOC", "ASCEND"))}
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**clean, "JUMAR_MACHINE": machine, "JUMAR_EMULATE": "1", **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=limit,
        )
        assert not check or done.returncode == 0, done.stderr
        return done

    return call


@pytest.fixture
def ranks(run: Run, tmp_path: Path) -> Ranks:
    """`ranks(4, source)` runs `main(rank, size)` of the source on four cards; what each rank said, and its end."""
    folders = (tmp_path / f"run-{number}" for number in itertools.count())

    def call(size: int, source: str, check: bool = True, limit: float = 900, **variables: str) -> Outcome:
        folder = next(folders)
        folder.mkdir()
        return run_ranks(run, folder, size, source, check, limit, **variables)

    return call
