"""INI files (`setup.cfg`, `tox.ini`) as entries; each further line of a value is an entry of the same key."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.migrate.syntax.entry import ConfigEntry, Kind

_LINE = re.compile(rb"[^\r\n]+")
_SECTION = re.compile(rb"\[([^\]]*)\]")
_PAIR = re.compile(rb"([^\s=:#;\[][^=:]*?)[ \t]*[=:][ \t]*")
_NOTE = re.compile(rb"[ \t][#;]")


def entries(data: bytes) -> Iterator[ConfigEntry]:
    section, key, span = "", "", (0, 0)
    for line in _LINE.finditer(data):
        text = line.group()
        stripped = text.strip()
        if not stripped or stripped[:1] in (b"#", b";"):
            continue
        start = line.start() + len(text) - len(text.lstrip())
        header = _SECTION.match(text)
        pair = _PAIR.match(text)
        if header:
            section, key = header.group(1).decode("utf-8", "replace"), ""
            yield ConfigEntry(
                (section,), "", line.end(), line.end(), line.start() + 1, line.start() + header.end(1), Kind.OPEN
            )
        elif pair and not text[:1].isspace():
            key = pair.group(1).decode("utf-8", "replace")
            span = (line.start() + pair.start(1), line.start() + pair.end(1))
            yield _entry(data, (section, key), line.start() + pair.end(), line.end(), span)
        elif key:
            yield _entry(data, (section, key, "[]"), start, line.end(), (start, start))


def _entry(data: bytes, path: tuple[str, ...], start: int, end: int, span: tuple[int, int]) -> ConfigEntry:
    note = _NOTE.search(data, start, end)
    stop = start + len(data[start : note.start() if note else end].rstrip())
    value = data[start:stop].decode("utf-8", "replace")
    return ConfigEntry(path, value, start, stop, *span, Kind.PLAIN if value else Kind.OPEN)
