"""Starts `jumar launch` as a user does, on the plain CPU, and checks that no process of it stays behind."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from starting import Launch

MARK = "JUMAR_TEST_JOB"


@pytest.fixture
def mark() -> Iterator[str]:
    """A variable that every process of this test inherits, however far it wanders off."""
    value = uuid.uuid4().hex
    yield value
    until = time.monotonic() + 10
    while (left := _carrying(value)) and time.monotonic() < until:
        time.sleep(0.05)
    assert left == [], "processes are left"


def _carrying(value: str) -> list[str]:
    """Running processes with our mark in their environment, this one and zombies aside."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={value}".encode() in (folder / "environ").read_bytes() and folder.name != str(os.getpid()):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


@pytest.fixture
def environment(mark: str) -> dict[str, str]:
    """No NPU, no emulator, no torch_npu: the ranks of these tests are plain programs."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    dropped = ("ASCEND", "MASTER", "OMP", "RANK", "LOCAL", "WORLD", "JUMAR")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**clean, MARK: mark, "JUMAR_EMULATE": "0", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}


@pytest.fixture
def launch(environment: dict[str, str], tmp_path: Path) -> Launch:
    def call(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "jumar", "launch", *map(str, words)],
            cwd=tmp_path,
            env={**environment, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    return call
