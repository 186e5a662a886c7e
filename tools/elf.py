"""Reads what a shared library needs, defines and names, without binutils (ELF64, little endian)."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import NamedTuple

_SHT_DYNSYM = 11
_SHT_DYNAMIC = 6
_SHT_GNU_VERSYM = 0x6FFFFFFF
_SHF_ALLOC = 2
_SHF_WRITE = 1
_DT_NEEDED, _DT_SONAME = 1, 14


class Library(NamedTuple):
    soname: str
    needed: tuple[str, ...]
    defined: frozenset[str]
    undefined: frozenset[str]
    unversioned: frozenset[str]
    """What of it has no version: the system's libraries give all of theirs one, CANN none."""
    words: frozenset[str]


class _Section(NamedTuple):
    kind: int
    flags: int
    offset: int
    size: int
    link: int


def read(path: Path) -> Library:
    """The dynamic symbols of `path` and every identifier among its constant strings."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"`{path}` is not a 64-bit little-endian ELF file")
    sections = _sections(data)
    needed, soname = _dynamic(data, sections)
    return Library(soname or path.name, needed, *_symbols(data, sections), _words(data, sections))


def _sections(data: bytes) -> list[_Section]:
    (offset,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    found = []
    for index in range(count):
        _, kind, flags, _, start, length, link = struct.unpack_from("<IIQQQQI", data, offset + index * size)
        found.append(_Section(kind, flags, start, length, link))
    return found


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode("utf-8", "replace")


def _dynamic(data: bytes, sections: list[_Section]) -> tuple[tuple[str, ...], str]:
    needed: list[str] = []
    soname = ""
    for section in sections:
        if section.kind != _SHT_DYNAMIC:
            continue
        strings = sections[section.link].offset
        for at in range(section.offset, section.offset + section.size, 16):
            tag, value = struct.unpack_from("<QQ", data, at)
            if tag == _DT_NEEDED:
                needed.append(_text(data, strings + value))
            elif tag == _DT_SONAME:
                soname = _text(data, strings + value)
    return tuple(needed), soname


def _symbols(data: bytes, sections: list[_Section]) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    defined: set[str] = set()
    undefined: set[str] = set()
    unversioned: set[str] = set()
    versions = next((section.offset for section in sections if section.kind == _SHT_GNU_VERSYM), None)
    for section in sections:
        if section.kind != _SHT_DYNSYM:
            continue
        strings = sections[section.link].offset
        for number in range(1, section.size // 24):
            name, info, _, index = struct.unpack_from("<IBBH", data, section.offset + number * 24)
            if index:
                defined.add(_text(data, strings + name))
            elif info >> 4 == 1:  # a weak reference may stay open, a global one may not
                undefined.add(_text(data, strings + name))
                if versions is None or struct.unpack_from("<H", data, versions + number * 2)[0] <= 1:
                    unversioned.add(_text(data, strings + name))
    return frozenset(defined), frozenset(undefined), frozenset(unversioned)


def _words(data: bytes, sections: list[_Section]) -> frozenset[str]:
    found: set[str] = set()
    for section in sections:
        if section.kind == 1 and section.flags & _SHF_ALLOC and not section.flags & _SHF_WRITE:
            block = data[section.offset : section.offset + section.size]
            found.update(w.decode() for w in re.findall(rb"(?<=\0)[A-Za-z_][A-Za-z0-9_.]{3,}(?=\0)", block))
    return frozenset(found)
