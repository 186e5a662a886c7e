"""Takes the body of an upload to a temporary file and checks every sum that the client sent with it."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from jumar.cloud.disk import Disk
from jumar.cloud.standin.http import Body, Broken, Request
from jumar.cloud.standin.signature import UNSIGNED, Denied

BUFFER = 1 << 20
STREAMED = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
_SUMS = ("crc32", "sha1", "sha256")


class Received(NamedTuple):
    path: str
    size: int
    etag: str


class _Crc32:
    def __init__(self) -> None:
        self.value = 0

    def update(self, data: memoryview) -> None:
        self.value = zlib.crc32(data, self.value)

    def digest(self) -> bytes:
        return self.value.to_bytes(4, "big")


def receive(disk: Disk, body: Body, headers: Mapping[str, str], payload: str) -> Received:
    """The whole body, or `Denied` and nothing left behind."""
    source: Body | Chunked = body
    if payload.startswith("STREAMING-") or "aws-chunked" in headers.get("content-encoding", ""):
        if payload not in (STREAMED, UNSIGNED):
            raise Denied("NotImplemented", f"`{payload}` is not supported", 501)
        source = Chunked(body)
    names = {
        name
        for name in _SUMS
        if f"x-amz-checksum-{name}" in headers or headers.get("x-amz-trailer") == f"x-amz-checksum-{name}"
    }
    sums = {name: _sum(name) for name in names | ({"payload"} if len(payload) == 64 else set())}
    path = disk.temporary()
    try:
        size, etag = _store(source, path, list(sums.values()))
        sent = {**headers, **source.trailer} if isinstance(source, Chunked) else headers
        _check(sums, sent, payload)
        if value := headers.get("content-md5"):
            _compare(_decoded(value), bytes.fromhex(etag), "BadDigest", "Content-MD5")
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        raise
    return Received(path, size, etag)


def signed_body(request: Request, payload: str) -> bytes:
    """A short body, such as an XML document; it must be the one that was signed."""
    body = request.body.read()
    if len(payload) == 64:
        _compare(bytes.fromhex(payload), hashlib.sha256(body).digest(), "XAmzContentSHA256Mismatch", "SHA-256")
    return body


class Chunked:
    """The body of an `aws-chunked` upload: pieces with their length in front, checksums behind."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.left = 0
        self.done = False
        self.trailer: dict[str, str] = {}
        self.started = False

    def into(self, view: memoryview) -> int:
        if self.done:
            return 0
        if not self.left:
            if self.started:
                self._line()
            self.started = True
            size = self._line().split(b";")[0]
            try:
                self.left = int(size, 16)
            except ValueError:
                raise Denied("InvalidRequest", "not a chunk length", 400) from None
            if self.left < 0:
                raise Denied("InvalidRequest", "not a chunk length", 400)
            if not self.left:
                self._finish()
                return 0
        count = self.body.into(view[: min(self.left, len(view))])
        if not count:
            raise Denied("IncompleteBody", "the body ended inside a chunk", 400)
        self.left -= count
        return count

    def _finish(self) -> None:
        self.done = True
        while line := self._line():
            name, _, value = line.decode("latin-1").partition(":")
            self.trailer[name.strip().lower()] = value.strip()

    def _line(self) -> bytes:
        line = bytearray()
        one = memoryview(bytearray(1))
        while not line.endswith(b"\r\n"):
            if not self.body.into(one):
                break
            line += one
            if len(line) > 4096:
                raise Broken("a chunk's head is too long")
        return bytes(line).rstrip(b"\r\n")


def _sum(name: str) -> Any:
    if name == "crc32":
        return _Crc32()
    return hashlib.new("sha256" if name == "payload" else name, usedforsecurity=False)


def _check(sums: Mapping[str, Any], sent: Mapping[str, str], payload: str) -> None:
    for name, summer in sums.items():
        if name == "payload":
            _compare(bytes.fromhex(payload), summer.digest(), "XAmzContentSHA256Mismatch", "x-amz-content-sha256")
        else:
            _compare(_decoded(sent.get(f"x-amz-checksum-{name}", "")), summer.digest(), "BadDigest", name)


def _compare(right: bytes, found: bytes, code: str, name: str) -> None:
    if right != found:
        raise Denied(code, f"The {name} you specified did not match what we received.", 400)


def _decoded(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except ValueError:
        raise Denied("InvalidDigest", "The checksum you specified is not valid.", 400) from None


def _store(source: Body | Chunked, path: str, sums: list[Any]) -> tuple[int, str]:
    digest = hashlib.md5(usedforsecurity=False)
    length = source.body.length if isinstance(source, Chunked) else source.length
    view = memoryview(bytearray(min(BUFFER, max(length, 1))))
    size = 0
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        while count := _fill(source, view):
            piece = view[:count]
            digest.update(piece)
            for summer in sums:
                summer.update(piece)
            size += count
            while piece:
                piece = piece[os.write(handle, piece) :]
    finally:
        os.close(handle)
    return size, digest.hexdigest()


def _fill(source: Body | Chunked, view: memoryview) -> int:
    """Fill the buffer: few large writes cost less than many small ones."""
    count = 0
    while count < len(view) and (more := source.into(view[count:])):
        count += more
    return count
