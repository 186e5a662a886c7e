"""The tested versions: the file is sound, its small reader agrees, and nobody else names one."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import stamps
from jumar.core.compat import tomllib
from jumar.tables import mindspore_versions, tested, versions

ROOT = Path(__file__).parents[2]
PAIR, MINDSPORE = tested.pair(), tested.mindspore()
TORCH = rf"(?<![\d.]){re.escape(PAIR.torch)}(?![\d.])"
CANN = rf"(?<![\d.]){re.escape(PAIR.cann)}(?![\d.])"
NAMED = rf"{TORCH}|mindspore[= ]+{re.escape(MINDSPORE.mindspore)}"
WHEEL = re.compile(rf"published torch_npu {TORCH} wheel|introspection of torch")
"""How a fact says which wheel it was read from."""
CITED = re.compile(rf"(torch|torch_npu) {TORCH}|mindspore {re.escape(MINDSPORE.mindspore)}", re.IGNORECASE)
"""How a comment, a docstring or a sentence of the documentation says what was looked at."""
VENDOR = {
    "tests/machine/test_plan_solve.py",
    "tests/tables/test_support.py",
    "tests/tables/test_tables_of_the_cli.py",
    "tests/tables/test_versions.py",
}
"""Tests of the vendor's own tables, whose rows are facts about every release."""


def _files(*patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file())


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _strings(path: Path) -> Iterator[tuple[int, str]]:
    """The string literals of a Python file without its docstrings."""
    tree = ast.parse(path.read_bytes())
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.lineno, node.value


def test_the_default_pair_is_one_the_vendor_published() -> None:
    row = versions.release_for(PAIR.torch)
    assert row is not None and row.published
    assert (row.torch_npu, row.cann) == (PAIR.torch_npu, PAIR.cann)
    assert set(tested.pythons()) <= set(row.python)


def test_mindspore_rows_agree_with_the_vendors_table() -> None:
    known = {row.mindspore: row for row in mindspore_versions.releases()}
    for row in tested.mindspores():
        assert (row.cann, set(row.python)) == (known[row.mindspore].cann, set(known[row.mindspore].python))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["torch", "torch_npu"], f"torch=={PAIR.torch} torch_npu=={PAIR.torch_npu}"),
        (["mindspore"], f"mindspore=={MINDSPORE.mindspore} numpy{MINDSPORE.numpy}"),
        (["python"], json.dumps(list(tested.pythons()))),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_makefile_gets_the_same_versions_before_anything_is_installed(names: list[str], said: str) -> None:
    command = [sys.executable, "-I", "-S", str(ROOT / "tools" / "tested.py"), *names]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == said


def test_files_that_name_the_tested_versions_are_current() -> None:
    for path, text in stamps.stamped():
        assert path.read_text(encoding="utf-8") == text, f"{_name(path)}: run `python tools/generate.py`"


@pytest.mark.parametrize("python", tested.supported())
def test_the_extra_has_one_tested_pair_with_wheels_for_each_python(python: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [Requirement(text) for text in project["optional-dependencies"]["emulator"]]
    given = [row for row in wanted if row.marker is None or row.marker.evaluate({"python_version": python})]
    pair = [str(row.specifier)[2:] for name in ("torch", "torch_npu") for row in given if row.name == name]
    assert len(pair) == 2 and tested.find(*pair) is not None
    (release,) = (row for row in versions.releases() if [row.torch, row.torch_npu] == pair)
    assert all(python in release.pythons(machine) for machine in ("x86_64", "aarch64"))


def test_a_stamp_replaces_each_version_in_its_place() -> None:
    stamp = stamps.Stamp((), r"torch==([\d.]+) with torch_npu==([\d.]+)", ("3.0", "3.1"))
    assert stamp.apply("a torch==1.0 with torch_npu==2.0 b") == "a torch==3.0 with torch_npu==3.1 b"


def test_the_version_of_jumar_stands_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"] and "version" not in project["project"]
    assert project["tool"]["scikit-build"]["metadata"]["version"]["input"] == "src/jumar/__init__.py"


def test_no_code_names_a_tested_version() -> None:
    files = _files("src/**/*.py", "tools/*.py", "bench/*.py", "tests/**/*.py")
    found = [
        f"{_name(path)}:{line}: {value.strip()[:60]!r}"
        for path in files
        if _name(path) not in VENDOR
        for line, value in _strings(path)
        if re.search(NAMED if "tests" in path.parts else f"{NAMED}|{CANN}", value) and not WHEEL.search(value)
    ]
    assert not found, "read it from `jumar.tables.tested`:\n" + "\n".join(found)


def test_no_build_file_names_a_tested_version() -> None:
    files = _files("Makefile", ".ci/*", ".github/**/*", "CMakeLists.txt", "native/**/*")
    found = [
        f"{_name(path)}: {match[0]}"
        for path in files
        if path.suffix != ".toml"
        for match in re.finditer(f"{NAMED}|{CANN}", path.read_text(encoding="utf-8"))
    ]
    assert not found, "read it with `tools/tested.py`:\n" + "\n".join(found)


def test_tables_name_a_tested_version_only_as_their_source() -> None:
    found = [
        f"{_name(path)}:{number}: {line.strip()[:80]}"
        for path in _files("src/jumar/data/*.toml", "native/api/**/*.toml")
        if path.name != "tested.toml"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(TORCH, line) and not (line.startswith("#") and CITED.search(line)) and not WHEEL.search(line)
    ]
    assert not found, "\n".join(found)


def test_pages_name_a_tested_version_where_it_is_kept_current_or_as_what_was_seen() -> None:
    found = []
    rows = [(set(_files(*stamp.files)), re.compile(stamp.pattern)) for stamp in stamps.stamps()]
    for path in _files("README*.md", "CONTRIBUTING.md", "docs/guides/*.md", "docs/concepts/*.md", "docs/findings/*.md"):
        fenced = False
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            fenced ^= line.startswith("```")
            kept = any(path in files and pattern.search(line) for files, pattern in rows)
            if re.search(NAMED, line) and not kept and (fenced or not CITED.search(line)):
                found.append(f"{_name(path)}:{number}: {line.strip()[:80]}")
    assert not found, "add a row to tools/stamps.py:\n" + "\n".join(found)
