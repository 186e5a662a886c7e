"""Who may import whom: STYLE section 3, read from the import statements themselves."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src" / "jumar"
FEATURES = {"migrate", "machine", "emulate", "launch", "cloud", "compare", "perf", "export", "parallel"}
LOWER = {
    "core": {"core"},
    "data": {"data"},
    "tables": {"tables", "core", "data"},
    "report": {"report", "tables", "core"},
    "cli": {"cli", "report", "tables", "core", "data", *FEATURES},
    **{feature: {feature, "tables", "core", "data"} for feature in FEATURES},
}
"""What each part may import."""
VALUES = tuple(
    f"jumar.{name}.result." for name in ("compare", "migrate", "machine.explain", "machine.smi", "parallel", "perf")
)
"""Modules of features with nothing but values, which reports may read."""
HEAVY = {"torch", "torch_npu", "numpy", "mindspore", "obs", "boto3", "onnx", "onnxruntime"}
HEAVY_PLACES = ("emulate", "compare", "cloud/store", "launch/backends", "export", "perf/record", "parallel/programs")


def _modules() -> list[Path]:
    return sorted(SOURCES.rglob("*.py"))


def _imports(path: Path, *, types_too: bool) -> Iterator[tuple[int, str]]:
    tree = ast.parse(path.read_bytes())
    only_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if node in only_types and not types_too:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write absolute imports"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def _part(path: Path) -> str:
    return path.relative_to(SOURCES).parts[0] if path.parent != SOURCES else ""


@pytest.mark.parametrize("path", _modules(), ids=lambda path: path.relative_to(SOURCES).as_posix())
def test_imports_point_down(path: Path) -> None:
    part = _part(path)
    if not part:
        return
    assert part in LOWER, f"`{part}` has no place in the layers: add it to tests/test_layers.py and STYLE"
    for line, name in _imports(path, types_too=part != "report"):
        words = name.split(".")
        if words[0] != "jumar" or len(words) < 2 or words[1] == "__version__":
            continue
        allowed = words[1] in LOWER[part] or (part == "report" and name.startswith(VALUES))
        assert allowed, f"{path}:{line}: `{part}` must not import `{name}`"


@pytest.mark.parametrize("path", sorted((SOURCES / "core").rglob("*.py")), ids=lambda path: path.name)
def test_core_needs_only_the_standard_library(path: Path) -> None:
    for line, name in _imports(path, types_too=True):
        first = name.split(".")[0]
        assert first == "jumar" or first in sys.stdlib_module_names, f"{path}:{line}: core must not import `{name}`"


@pytest.mark.parametrize("path", _modules(), ids=lambda path: path.relative_to(SOURCES).as_posix())
def test_heavy_packages_stay_where_they_are_needed(path: Path) -> None:
    inside = path.relative_to(SOURCES).as_posix().startswith(HEAVY_PLACES)
    for line, name in _imports(path, types_too=False):
        assert inside or name.split(".")[0] not in HEAVY, f"{path}:{line}: `{name}` is not for this place"


@pytest.mark.parametrize("path", _modules(), ids=lambda path: path.relative_to(SOURCES).as_posix())
def test_only_the_command_line_prints(path: Path) -> None:
    if _part(path) in ("cli", "emulate"):
        return
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id != "print", f"{path}:{node.lineno}: only `cli` prints"
