"""Fixtures for all tests: golden files, and the command line called as a user calls it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import mindspore_python
from jumar import start
from jumar.cli.main import main

GOLDEN = Path(__file__).parent / "golden"
start.emulate()  # torch of this process loads torch_npu, which needs the stand-ins; programs ask for themselves


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files anew; read them before commit"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with a file under tests/golden."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text, f"{name} differs; `pytest --update-golden` writes it anew"

    return compare


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's cache; the workers of one run share one, so that the glue is built once."""
    base = tmp_path_factory.getbasetemp()
    monkeypatch.setenv("XDG_CACHE_HOME", str((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"))


@pytest.fixture(scope="session")
def mindspore() -> str:
    """An interpreter with MindSpore."""
    found, reason = mindspore_python.find()
    if not found:
        pytest.skip(reason)
    return found


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def jumar(capfd: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run the command line in this process; returns exit code, stdout and stderr."""

    def run(*args: object) -> Done:
        capfd.readouterr()
        code = main([str(arg) for arg in args])
        said = capfd.readouterr()
        return Done(code, said.out, said.err)

    return run
