"""One interface to places where objects are kept; `folder`, `obs` and `s3` are the three that there are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from jumar.core.errors import UserError, cannot


class ObjectEntry(NamedTuple):
    """An object, or with a key that ends in `/` and no ETag, a folder of them."""

    key: str
    size: int
    etag: str
    """As the store says it, without quotes; empty when it would have to be computed."""
    mtime_ns: int


class Part(NamedTuple):
    number: int
    etag: str
    size: int


class Transient(UserError):
    """A failure that may be gone at the next attempt."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "check the endpoint and the network, and start again")


class Piece(NamedTuple):
    """A part of a file of this machine."""

    path: str
    start: int
    size: int

    def read(self) -> bytes:
        try:
            with open(self.path, "rb", buffering=0) as file:
                data = os.pread(file.fileno(), self.size, self.start)
        except OSError as error:
            raise cannot(f"read `{self.path}`", error) from error
        if len(data) != self.size:
            raise self.shorter()
        return data

    def shorter(self) -> UserError:
        return UserError(
            f"`{self.path}` became shorter while it was read", "send it again when no program writes to it"
        )


def write_at(handle: int, data: bytes | memoryview, start: int) -> int:
    """Write all of it at a place of a file; the place behind it."""
    view = memoryview(data)
    while view:
        written = os.pwrite(handle, view, start)
        view, start = view[written:], start + written
    return start


class Store(Protocol):
    name: str
    """For manifests: what else would be another place."""
    local: bool
    """On this machine: few threads are faster than many."""

    def close(self) -> None: ...
    def buckets(self) -> list[str]: ...
    def make_bucket(self, bucket: str) -> None: ...
    def entries(self, bucket: str, prefix: str = "", *, one_level: bool = False) -> Iterator[ObjectEntry]: ...
    def head(self, bucket: str, key: str) -> ObjectEntry | None: ...
    def put(self, bucket: str, key: str, data: bytes, md5: str) -> str: ...
    def get(self, bucket: str, key: str, start: int, size: int) -> bytes: ...
    def copy(self, bucket: str, key: str, to_bucket: str, to_key: str) -> None: ...
    def delete(self, bucket: str, keys: Sequence[str]) -> None: ...
    def begin(self, bucket: str, key: str) -> str: ...
    def part(self, bucket: str, key: str, upload: str, number: int, piece: Piece) -> str: ...
    def fetch(self, bucket: str, key: str, start: int, size: int, handle: int) -> None: ...
    def parts(self, bucket: str, key: str, upload: str) -> list[Part] | None: ...
    def finish(self, bucket: str, key: str, upload: str, parts: Sequence[Part]) -> str: ...
    def abort(self, bucket: str, key: str, upload: str) -> None: ...


TRANSIENT = (408, 429, 500, 502, 503, 504)
_HINTS = {
    "NoSuchBucket": "`jumar cloud ls` lists the buckets; `jumar cloud mb obs://bucket` makes one",
    "AccessDenied": "the key pair lacks the permission: ask the owner of the bucket",
    "SignatureDoesNotMatch": "the secret key does not belong to the access key",
    "InvalidAccessKeyId": "the access key is unknown: check the key pair and the endpoint",
    "VirtualHostDomainRequired": "this endpoint needs virtual-host addresses: use its domain, not its IP",
    "InsufficientStorage": "free space on that disk and run it again: finished files are kept",
    "NoSuchKey": "`jumar cloud ls` shows what is there",
}


def failure(status: int, code: str, message: str, what: str) -> Exception:
    """The exception for an answer of a store."""
    if status in TRANSIENT or code in ("BadDigest", "RequestTimeout", "SlowDown"):
        return Transient(f"{what}: {code or status} {message}".strip())
    if 300 <= status < 400:
        return UserError(
            f"{what}: the store refers to another host, to which no keys are sent",
            "use the endpoint of the region in which the bucket is",
        )
    if status == 403 and not code:
        code = "AccessDenied"
    words = {
        "NoSuchBucket": "no such bucket",
        "NoSuchKey": "no such object",
        "AccessDenied": "no permission",
        "InsufficientStorage": "the disk there is full",
    }
    return UserError(f"{what}: {words.get(code) or f'{code or status} {message}'.strip()}", _HINTS.get(code))
