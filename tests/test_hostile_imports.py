"""A project full of modules with the names of ours and Python's: none of them runs in a process of Jumar's own."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jumar.core.compat import alone, stdlib_module_names
from jumar.machine.python_facts import SCRIPT

SOURCES = Path(__file__).parents[1] / "src" / "jumar"
PACKAGES = ("click", "rich", "jinja2", "markupsafe", "orjson", "torch", "numpy", "sitecustomize", "usercustomize")
COMMANDS = (
    ("--version",),
    ("analyze", "train.py", "--html", "report.html", "--sarif", "s.sarif"),
    ("explain", "507015"),
    ("plan", "--chip", "910B3", "--framework", "torch==2.6.0"),
    ("doctor",),
)


@pytest.fixture(scope="module")
def before_us() -> frozenset[str]:
    """What Python itself imports for `-m` before it comes to us: only `-P` keeps that out of a project's hands."""
    code = "import sys, runpy, pkgutil; print(*sys.modules)"
    words = [sys.executable, "-c", code]
    return frozenset(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Every name that anything could import; each writes that it ran."""
    (tmp_path / "train.py").write_text("import torch\nx = torch.zeros(1).cuda()\n")
    for name in {*stdlib_module_names(), *PACKAGES} - set(sys.builtin_module_names) - {"torch", "__main__"}:
        (tmp_path / f"{name}.py").write_text(_ran(name))
    (tmp_path / "rich").mkdir()
    (tmp_path / "rich" / "__init__.py").write_text(_ran("rich"))
    return tmp_path


def _ran(name: str) -> str:
    return f"import posix\nposix.close(posix.open('ran-{name}', posix.O_CREAT | posix.O_WRONLY))\nraise SystemExit(9)\n"


def _run(words: list[str], folder: Path, **more: str) -> tuple[int, str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "JUMAR"))}
    done = subprocess.run(words, cwd=folder, env={**environ, **more}, capture_output=True, text=True, timeout=300)
    ran = sorted(path.name for path in folder.glob("ran-*"))
    assert not ran, f"{ran}: {done.stderr}"
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0].strip("-"))
def test_the_command_imports_nothing_from_the_folder_one_is_in(words: tuple[str, ...], project: Path) -> None:
    script = Path(sys.executable).with_name("jumar")
    code, said = _run([str(script), *words], project)
    assert code in (0, 1), said


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0].strip("-"))
def test_the_module_imports_nothing_from_the_folder_one_is_in(
    words: tuple[str, ...], project: Path, before_us: frozenset[str]
) -> None:
    for name in before_us:
        (project / f"{name}.py").unlink(missing_ok=True)
    code, said = _run([sys.executable, "-m", "jumar", *words], project)
    assert code in (0, 1), said


def test_an_empty_part_of_the_python_path_is_no_way_in(project: Path) -> None:
    """`PYTHONPATH=$PYTHONPATH:/x` where it was empty puts the current folder before the packages."""
    for name in {*stdlib_module_names(), "sitecustomize", "usercustomize"}:
        (project / f"{name}.py").unlink(missing_ok=True)
    script = Path(sys.executable).with_name("jumar")
    code, said = _run([str(script), "analyze", "train.py"], project, PYTHONPATH=":/nowhere")
    assert code == 1, said


@pytest.mark.parametrize("program", [SCRIPT, "import json, importlib.util\nprint(json.dumps(1))"])
def test_programs_as_text_import_nothing_from_there(program: str, project: Path) -> None:
    code, said = _run([sys.executable, *alone(program)], project)
    assert code == 0, said


def test_the_question_about_a_python_is_safe_by_itself(project: Path) -> None:
    """Doctor sends it to any Python, with `-c` alone."""
    code, said = _run([sys.executable, "-c", SCRIPT], project)
    assert code == 0, said


@pytest.mark.parametrize("name", ["program.sh", "tool.sh", "pytorch_gpu2npu.sh"])
def test_scripts_of_the_emulated_machine_replace_the_current_folder(name: str) -> None:
    text = (SOURCES / "emulate" / "templates" / name).read_text()
    assert " -m " not in text
    assert re.search(r"-c 'import sys; sys\.path\[0\] = \"\$packages\"; ", text)


def test_every_interpreter_of_ours_is_started_safely() -> None:
    """A script by its path, `-I`, `-P`, or `alone`; never `-m` or `-c` with the current folder first."""
    users = {
        "app/suite_ranks.py": "the user's tests, one rank of them",
        "app/suite.py": "the user's own command line again",
        "emulate/proof/sides.py": "the project's tests, in the cage",
        "runtime/hooks/mindspore.py": "beside the user's program, in its process group",
        "cloud/standin/runner.py": "the job of the user on a node of its own",
        "export/command.py": "a line to show",
        "launch/submission.py": "the user's program on other machines",
    }
    wrong = []
    for path in SOURCES.rglob("*.py"):
        name = path.relative_to(SOURCES).as_posix()
        for node in ast.walk(ast.parse(path.read_bytes())):
            if not isinstance(node, ast.List) or len(node.elts) < 2:
                continue
            first, second = node.elts[:2]
            is_python = "python" in ast.unparse(first) or "sys.executable" in ast.unparse(first)
            if is_python and isinstance(second, ast.Constant) and second.value in ("-m", "-c") and name not in users:
                wrong.append(f"{name}:{node.lineno}")
    assert not wrong
