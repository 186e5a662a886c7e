"""The command line starts quickly: help loads nothing heavy, and costs little more than click itself."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

HEAVY = ["torch", "numpy", "yaml", "rich", "jinja2", "packaging", "multiprocessing", "sqlite3"]
HELP = [["--help"], ["migrate", "--help"], ["analyze", "--help"], ["explain", "--help"], ["--version"]]


def _cpu(code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("args", HELP, ids=" ".join)
def test_help_loads_nothing_heavy(args: list[str]) -> None:
    code = (
        "import sys\nfrom jumar.cli.main import main\n"
        f"assert main({args!r}) == 0\n"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])\n"
        "print('OURS', [name for name in sys.modules if name.startswith(('jumar.migrate', 'jumar.report'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=os.environ)
    assert "LOADED []" in done.stdout
    assert "OURS []" in done.stdout


@pytest.mark.parametrize("args", HELP[:2], ids=" ".join)
def test_help_costs_little_more_than_click(args: list[str]) -> None:
    bare = min(_cpu("import click") for _ in range(5))
    ours = min(_cpu(f"from jumar.cli.main import main; main({args!r})") for _ in range(5))
    assert ours < 2.5 * bare + 0.02, f"{ours:.3f} s against {bare:.3f} s"
