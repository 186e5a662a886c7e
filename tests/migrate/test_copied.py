"""What Jumar leaves in a user's project runs where the user's program does: down to Python 3.7, without Jumar."""

from __future__ import annotations

import ast
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from jumar.migrate import copied

NAMES = sorted(
    entry.name.removesuffix(".py")
    for entry in files(copied).iterdir()
    if entry.name.endswith(".py") and entry.name != "__init__.py"
)
OLD_PYTHONS = sorted(Path("~/.pyenv/versions").expanduser().glob("3.7*/bin/python"))


def test_both_helpers_are_found() -> None:
    assert NAMES == ["jumar_cloud", "jumar_device"]


@pytest.mark.parametrize("name", NAMES)
def test_a_copied_module_is_python_3_7_and_knows_nothing_of_jumar(name: str) -> None:
    tree = ast.parse(copied.text(name), feature_version=(3, 7))
    # `feature_version` lets these two through.
    assert not any(isinstance(node, ast.NamedExpr) for node in ast.walk(tree))
    assert not any(isinstance(node, ast.FunctionDef) and node.args.posonlyargs for node in ast.walk(tree))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not any(module.split(".")[0] == "jumar" for module in imported)


@pytest.mark.skipif(not OLD_PYTHONS, reason="no Python 3.7 under ~/.pyenv")
@pytest.mark.parametrize("name", NAMES)
def test_a_copied_module_compiles_on_python_3_7(name: str) -> None:
    program = "import sys; compile(sys.stdin.buffer.read(), sys.argv[1], 'exec')"
    done = subprocess.run([OLD_PYTHONS[0], "-c", program, name], input=copied.text(name), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
