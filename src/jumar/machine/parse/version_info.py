"""Reads the vendor's version files: `name=value` lines, lists of releases, ranges of versions.

Files: driver and firmware `version.info` (23.0 to 25.5), `ascend_toolkit_install.info`, `ascend_ops_install.info`,
`<component>/version.info`, `/etc/ascend_install.info`, as seen in public repositories (2026-11-15).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from jumar.machine.parse.layout import UnknownLayout


class Range(NamedTuple):
    """Both ends belong to it."""

    low: str
    high: str

    def holds(self, version: str) -> bool:
        return key(self.low) <= key(version) <= key(self.high)


def values(text: str, *needed: str) -> dict[str, str]:
    """`name=value` lines; a file that breaks off in a line, or lacks a `needed` name, is refused."""
    found: dict[str, str] = {}
    for line in text.replace("\0", "").splitlines():
        line = line.strip()
        if not line or line.startswith(("#", "$", "[", "...")):
            continue
        name, equals, value = line.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z][\w.-]*", name.strip()):
            raise UnknownLayout(f"not a `name=value` line: `{line[:60]}`")
        found[name.strip()] = value.strip().strip('"')
    if missing := [name for name in needed if not found.get(name)]:
        raise UnknownLayout(f"no value for `{missing[0]}`: the file is empty or half written")
    return found


def releases(text: str) -> list[str]:
    """`[V100R001C30],[V100R001C13]`: the releases of it."""
    found = re.findall(r"\[([^\[\],]+)\]", text)
    if text and not found:
        raise UnknownLayout(f"not a list of releases: `{text}`")
    return found


def release_of(inner: str) -> str:
    """`V100R001C21SPC001B238` belongs to V100R001C21."""
    match = re.match(r"V\d+R\d+C\d+", inner)
    if match is None:
        raise UnknownLayout(f"not an inner version: `{inner}`")
    return match[0]


def ranges(text: str) -> list[Range]:
    """`[7.0.0,7.2.99]` or several of them; an end that finishes with a dot means every version below it."""
    found = [Range(low, f"{high}99999" if high.endswith(".") else high) for low, high in _ENDS.findall(text)]
    if text and not found:
        raise UnknownLayout(f"not a range of versions: `{text}`")
    return found


_ENDS = re.compile(r"\[\s*([^\[\],\s]+)\s*,\s*([^\[\],\s]+)\s*\]")


def key(version: str) -> tuple[tuple[int, int], ...]:
    """Sorts releases as the vendor counts them: 8.0.RC3 before 8.0.0, 8.5.0.alpha002 before 8.5.0."""
    parts: list[tuple[int, int]] = []
    for part in re.split(r"[.\-_]", version.strip().lower()):
        match = re.fullmatch(r"(rc|alpha|beta|spc|b|t)?(\d*)", part)
        if match is None or not part:
            raise UnknownLayout(f"not a version: `{version}`")
        rank = {None: 2, "alpha": 0, "beta": 0, "rc": 1}.get(match[1], 2)
        parts.append((rank, int(match[2] or 0)))
    return (*parts, _END)


_END = (1, 10**9)
"""Behind release candidates and previews of a version, before its patches."""
