"""A requirement in any kind of file, and where another one goes beside it."""

from __future__ import annotations

import re
from typing import NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from jumar.core.compat import StrEnum
from jumar.core.edit import Edit
from jumar.migrate.syntax import requirements
from jumar.migrate.textfile import TextFile


class How(StrEnum):
    LINE = "line"
    """A line of its own: requirement files, `setup.cfg`."""
    ITEM = "item"
    """`- torch==2.1` in a list of pip packages."""
    ARRAY = "array"
    """A string in a list: `pyproject.toml`."""
    ARGUMENT = "argument"
    """A word of `pip install`."""
    CONDA = "conda"
    """A conda package: other names, other builds."""
    TABLE = "table"
    """`torch = "^2.1"` in a table of dependencies."""


class Pin(NamedTuple):
    """One requirement; the span holds its text without quotes, `outer` also the quotes."""

    name: str
    text: str
    start: int
    end: int
    outer: tuple[int, int]
    how: How
    group: tuple[str, ...] = ()
    """Requirements that are installed together have the same group."""
    is_from_index: bool = False
    """Does another index than the default one serve it?"""


def pin(text: str, start: int, how: How, group: tuple[str, ...] = (), outer: tuple[int, int] | None = None) -> Pin:
    end = start + len(text.encode())
    name = requirements.project(text)
    if how is How.CONDA:
        name = requirements.project(re.split(r"[=<> ]", text.rpartition("::")[2])[0])
    return Pin(name, text, start, end, outer or (start, end), how, group)


def specifier(found: Pin) -> SpecifierSet | None:
    """The allowed versions, without local parts; None when they cannot be told."""
    text = re.sub(r"\+cu\d+\w*", "", found.text)
    if found.how is How.TABLE:
        match = re.fullmatch(r"\^(\d+)\.(\d+)(\.\d+)?", text)
        if match:
            text = f">={text[1:]},<{int(match.group(1)) + 1}"
        elif re.fullmatch(r"\d[\w.]*", text):
            text = f"=={text}"
        elif text == "*":
            text = ""
    else:
        try:
            parsed = Requirement(re.split(r"\s--hash|\s\\|\s*\\?\n", text)[0].strip())
        except InvalidRequirement:
            return None
        if parsed.url:
            return None
        return parsed.specifier
    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        return None


def exact(found: SpecifierSet) -> str | None:
    """The one version that `==` asks for."""
    only = list(found)
    if len(only) == 1 and only[0].operator in ("==", "===") and not only[0].version.endswith("*"):
        return only[0].version
    return None


def beside(file: TextFile, found: Pin, name: str, version: str) -> Edit | None:
    """The edit that adds `name==version` next to a requirement, as its neighbours are written."""
    data, newline = file.source.data, file.source.newline.decode()
    start, end = found.outer
    if found.how is How.TABLE:
        return _row(file, found, name, version)
    marker = found.text.partition(";")[2] if found.how is not How.ARGUMENT else ""
    new = f"{name}=={version}" + (f";{marker.rstrip()}" if marker else "")
    if found.how is How.ARGUMENT:
        return Edit(end, end, f" {new}".encode())
    line_start, line_end = file.line_span(start)
    lead = data[line_start:start]
    if found.how is How.ARRAY:
        quote = data[start : start + 1].decode()
        gap = f",{newline}{lead.decode()}" if not lead.strip() else ", "
        return Edit(end, end, f"{gap}{quote}{new}{quote}".encode())
    at = max(line_end, end)
    if b"\\" in data[found.start : found.end] or "--hash" in found.text:
        return None
    return Edit(at, at, f"{newline}{lead.decode()}{new}".encode())


def _row(file: TextFile, found: Pin, name: str, version: str) -> Edit | None:
    """A further `name = "version"` line below one that has the same plain shape."""
    data = file.source.data
    line_start, line_end = file.line_span(found.start)
    lead = data[line_start : found.start]
    match = re.fullmatch(rb"([ \t]*)[\w.-]+([ \t]*=[ \t]*[\"'])", lead)
    if match is None or data[found.end + 1 : line_end].split(b"#")[0].strip():
        return None
    equals = b"==" if found.text.startswith("==") else b""
    quote = data[found.end : found.end + 1]
    new = match.group(1) + name.encode() + match.group(2) + equals + version.encode() + quote
    return Edit(line_end, line_end, file.source.newline + new)
