"""Opens logs of every kind: plain, packed, in UTF-16, or not a log at all; read in blocks, never whole."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from jumar.core import read
from jumar.core.errors import UserError, cannot, reason

BLOCK = 1 << 20
_MAGIC: dict[bytes, Callable[[BinaryIO], io.BufferedIOBase]] = {
    b"\x1f\x8b": lambda stream: gzip.GzipFile(fileobj=stream),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
}
_BROKEN = (EOFError, OSError, lzma.LZMAError, zlib.error)
_LOG_NAMES = (".log", ".txt", ".out", ".err", ".gz", ".bz2", ".xz", ".oplog")
_TEXT = bytes({7, 8, 9, 10, 12, 13, 27, *range(0x20, 0x7F), *range(0x80, 0x100)})


class Source(NamedTuple):
    """A log to read: a name for messages, and where its bytes come from."""

    name: str
    stream: BinaryIO


class Broken(Exception):
    """The rest of a log cannot be read; what came before it counts."""


def files(path: Path) -> list[Path]:
    """The file itself, or the logs in a folder, in order of their names."""
    if not path.is_dir():
        return [path]
    found = [item for item in sorted(path.rglob("*")) if item.is_file() and _looks_like_log(item)]
    if not found:
        raise UserError(f"no logs in `{path}`", "name the files themselves; logs end in .log, .txt, .out or .err")
    return found


def open_file(path: Path) -> Source:
    try:
        read.check(path)
        return Source(str(path), path.open("rb"))
    except OSError as error:
        raise cannot(f"read `{path}`", error) from error


def from_lines(name: str, lines: Iterable[str | bytes]) -> Source:
    """Lines that somebody has already, with or without line ends."""
    return Source(name, cast(BinaryIO, io.BufferedReader(_Lines(lines), BLOCK)))


def blocks(source: Source) -> Iterator[bytes]:
    """The bytes of a log as UTF-8, unpacked; raises `Broken` where they end too early or are no text."""
    stream = source.stream
    head = _read(stream, BLOCK)
    for magic, unpack in _MAGIC.items():
        if head.startswith(magic):
            packed = _Joined(head, stream)
            stream = cast(BinaryIO, _Unpacked(unpack(cast(BinaryIO, packed)), packed))
            head = _read(stream, BLOCK)
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        yield from _utf16(head, stream)
        return
    if is_binary(head[:65536]):
        raise Broken("not a text file")
    while head:
        yield head
        head = _read(stream, BLOCK)


def is_binary(head: bytes) -> bool:
    """Mostly bytes that no text has; a log with a few holes or colours is still a log."""
    return len(head.translate(None, _TEXT)) > len(head) // 10


def _read(stream: BinaryIO, size: int) -> bytes:
    try:
        return stream.read(size)
    except _BROKEN as error:
        raise Broken(f"damaged after this point: {reason(error)}") from error


def _utf16(head: bytes, stream: BinaryIO) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    while head:
        yield decoder.decode(head).encode("utf-8", "replace")
        head = _read(stream, BLOCK)


def _looks_like_log(path: Path) -> bool:
    return path.name.endswith(_LOG_NAMES) or "." not in path.name or path.suffix[1:].isdecimal()


class _Joined(io.RawIOBase):
    """Bytes that were read already, and the rest of the stream they came from: pipes cannot go back."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._rest = rest
        self.size = 0
        """Bytes that were read from it."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(data) :]
        self.size += len(data)
        buffer[: len(data)] = data
        return len(data)

    def read(self, size: int = -1) -> bytes:
        buffer = bytearray(size if size >= 0 else BLOCK)
        return bytes(buffer[: self.readinto(memoryview(buffer))])


class _Unpacked:
    """What a packed log holds, as far as it is a log: bombs unpack to thousands of times their size."""

    def __init__(self, stream: io.BufferedIOBase, packed: _Joined) -> None:
        self._stream = stream
        self._packed = packed
        self._size = 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._size += len(data)
        if read.is_bomb(self._packed.size, self._size):
            raise Broken(f"it unpacks to more than {read.RATIO} times its size")
        return data


class _Lines(io.RawIOBase):
    """Lines as a stream."""

    def __init__(self, lines: Iterable[str | bytes]) -> None:
        self._lines = iter(lines)
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._left:
            line = next(self._lines, None)
            if line is None:
                return 0
            raw = line.encode("utf-8", "replace") if isinstance(line, str) else line
            self._left = raw if raw.endswith(b"\n") else raw + b"\n"
        data = self._left[: len(buffer)]
        self._left = self._left[len(data) :]
        buffer[: len(data)] = data
        return len(data)
