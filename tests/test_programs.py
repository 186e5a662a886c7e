"""Programs that tests start are files that the linter reads, not string literals."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
MOST = 6
"""Lines of a program that may stand in a test."""
INPUTS = {
    "cli/test_cloud_adapt.py", "emulate/test_hostile_projects.py", "migrate/test_names.py", "migrate/test_noise.py",
    "migrate/test_passes.py", "report/sample.py", "test_slow_shares.py", "untrusted/attempts.py",
}  # fmt: skip
"""Files whose literals are data: code to migrate with its faults, hostile programs, tests for a run of pytest."""


def _texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The string literals of a file; what an f-string fills in stands as a name."""
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else "filled" for part in node.values),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value


def _is_program(text: str) -> bool:
    """Long enough, valid Python, and it imports something at its top level."""
    if "import" not in text or sum(1 for line in text.splitlines() if line.strip()) <= MOST:
        return False
    try:
        body = ast.parse(textwrap.dedent(text)).body
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(node, ast.Import | ast.ImportFrom) for node in body)


def test_what_counts_as_a_program() -> None:
    assert _is_program("import os\n" + "print(1)\n" * MOST)
    assert not _is_program("import os\n" + "print(1)\n" * (MOST - 1))
    assert not _is_program("This is important.\n" * 9)
    assert not _is_program("def work():\n    import os\n" + "    print(1)\n" * 9)


def test_programs_stand_in_files() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in sorted(TESTS.rglob("*.py"))
        if path.relative_to(TESTS).as_posix() not in INPUTS
        for line, text in _texts(ast.parse(path.read_bytes()))
        if _is_program(text)
    ]
    assert not found, "move each to `programs/<name>.py` beside the test (see program_files.py):\n" + "\n".join(found)
