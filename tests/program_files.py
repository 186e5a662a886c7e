"""The programs that tests start: files under tests/<area>/programs, linted like all other code."""

from __future__ import annotations

from pathlib import Path


def program_file(test: str, name: str) -> Path:
    """The path of a program, for the test file (`__file__`) beside its folder."""
    return Path(test).parent / "programs" / f"{name}.py"


def program_text(test: str, name: str) -> str:
    """The same as text, for what is handed to `python -c` or written into a folder under another name."""
    return program_file(test, name).read_text(encoding="utf-8")
