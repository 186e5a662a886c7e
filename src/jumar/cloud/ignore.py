"""Which files stay at home: patterns in the syntax of `.gitignore`, from `.jumarignore` and from options."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from jumar.core import read

FILE = ".jumarignore"
ALWAYS = ("*.jumar-part", "*.jumar-parts", ".DS_Store")
CODE = (".git/", "__pycache__/", "*.pyc", ".ipynb_checkpoints/", ".venv/", ".mypy_cache/", ".pytest_cache/", ".idea/")
"""What never belongs to uploaded code."""


class Pattern(NamedTuple):
    regex: re.Pattern[str]
    keep: bool
    only_folders: bool


class Local(NamedTuple):
    """A file to be sent."""

    name: str
    """Relative, with forward slashes."""
    path: str
    size: int
    mtime_ns: int


def compile_patterns(lines: Iterable[str]) -> list[Pattern]:
    """Patterns in order; a later one wins, `!` takes back."""
    return [pattern for line in lines if (pattern := _compile(line)) is not None]


def ignored(name: str, is_folder: bool, patterns: Iterable[Pattern]) -> bool:
    result = False
    for pattern in patterns:
        if (is_folder or not pattern.only_folders) and pattern.regex.fullmatch(name):
            result = not pattern.keep
    return result


def read_lines(folder: Path, names: Iterable[str] = (FILE,)) -> list[str]:
    lines: list[str] = []
    for name in names:
        path = folder / name
        if path.is_file():
            lines += read.content(path).decode("utf-8", "replace").splitlines()
    return lines


def walk(
    folder: Path, patterns: list[Pattern], left_out: list[str] | None = None, within: Path | None = None
) -> Iterator[Local]:
    """The files of a folder in the order of their names; links to files are followed, links to folders are not.

    `left_out` receives the names of links that lead to no file, and of pipes and devices; also of links that lead
    out of `within`: a project must not choose which other files of the user are sent.
    """
    top = os.path.realpath(within).rstrip(os.sep) + os.sep if within is not None else ""
    yield from _walk(str(folder), "", patterns, [] if left_out is None else left_out, top)


def _walk(folder: str, start: str, patterns: list[Pattern], left_out: list[str], top: str) -> Iterator[Local]:
    with os.scandir(folder) as found:
        items = sorted(found, key=lambda item: item.name)
    for item in items:
        name = start + item.name
        if item.is_dir(follow_symlinks=False):
            if not ignored(name, True, patterns):
                yield from _walk(item.path, name + "/", patterns, left_out, top)
        elif ignored(name, False, patterns):
            continue
        elif os.path.isfile(item.path) and os.path.realpath(item.path).startswith(top):
            about = item.stat()
            yield Local(name, item.path, about.st_size, about.st_mtime_ns)
        else:
            left_out.append(name)


def _compile(line: str) -> Pattern | None:
    text = line.rstrip("\r\n")
    if not text.endswith("\\ "):
        text = text.rstrip()
    if not text or text.startswith("#"):
        return None
    keep = text.startswith("!")
    text = text[1:] if keep else text
    only_folders = text.endswith("/")
    text = text.rstrip("/")
    anchored = "/" in text
    text = text.lstrip("/")
    body = _regex(text)
    start = "" if anchored else "(?:.*/)?"
    if not text:
        return None
    try:
        return Pattern(re.compile(start + body, re.S), keep, only_folders)
    except re.error:  # `[z-a]`: git matches nothing with it
        return None


def _regex(text: str) -> str:
    out, at = "", 0
    while at < len(text):
        if text.startswith("**/", at):
            out, at = out + "(?:.*/)?", at + 3
        elif text.startswith("/**", at) and at + 3 == len(text):
            out, at = out + "/.*", at + 3
        elif text[at] == "*":
            out, at = out + "[^/]*", at + 1
        elif text[at] == "?":
            out, at = out + "[^/]", at + 1
        elif text[at] == "[" and (end := text.find("]", at + 2)) > 0:
            inner = text[at + 1 : end].replace("\\", "\\\\")
            out, at = out + f"[{'^' + inner[1:] if inner[0] == '!' else inner}]", end + 1
        elif text[at] == "\\" and at + 1 < len(text):
            out, at = out + re.escape(text[at + 1]), at + 2
        else:
            out, at = out + re.escape(text[at]), at + 1
    return out
