"""Multipart uploads on a disk store: parts survive a kill, and only a complete set becomes an object."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from jumar.cloud import keys
from jumar.cloud.disk import Disk, Note, new_id, sync_file, write_file


class Part(NamedTuple):
    number: int
    etag: str
    size: int
    mtime: float
    path: str


class Upload(NamedTuple):
    id: str
    key: str
    headers: Mapping[str, str]
    started: float


def begin(disk: Disk, bucket: str, key: str, headers: Mapping[str, str]) -> str:
    upload = new_id()
    folder = _folder(disk, bucket, upload)
    os.makedirs(folder)
    write_file(f"{folder}/about.tmp", json.dumps({"key": key, "headers": dict(headers)}).encode())
    os.replace(f"{folder}/about.tmp", f"{folder}/about.json")
    return upload


def find(disk: Disk, bucket: str, upload: str) -> Upload | None:
    path = f"{_folder(disk, bucket, upload)}/about.json"
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
            return Upload(upload, data["key"], data["headers"], os.fstat(file.fileno()).st_mtime)
    except FileNotFoundError:
        return None


def running(disk: Disk, bucket: str) -> Iterator[Upload]:
    top = os.path.dirname(_folder(disk, bucket, "0" * 32))
    names = sorted(os.listdir(top)) if os.path.isdir(top) else []
    found = [upload for name in names if (upload := find(disk, bucket, name)) is not None]
    yield from sorted(found, key=lambda upload: (upload.key.encode(), upload.started))


def add(disk: Disk, bucket: str, upload: str, number: int, temporary: str, etag: str) -> None:
    """A finished temporary file becomes a part; an earlier one with the same number goes."""
    folder = _folder(disk, bucket, upload)
    name = f"{number:05d}.{etag}"
    older = [item for item in os.listdir(folder) if item.startswith(f"{number:05d}.") and item != name]
    os.replace(temporary, f"{folder}/{name}")
    for item in older:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{folder}/{item}")


def parts(disk: Disk, bucket: str, upload: str) -> list[Part]:
    folder = _folder(disk, bucket, upload)
    found = []
    for name in sorted(os.listdir(folder)):
        number, _, etag = name.partition(".")
        if number.isdecimal():
            about = os.stat(f"{folder}/{name}")
            found.append(Part(int(number), etag, about.st_size, about.st_mtime, f"{folder}/{name}"))
    return found


def finish(disk: Disk, bucket: str, upload: Upload, chosen: Sequence[Part]) -> str:
    """Put the parts together; the parts go only when the object is on the disk under its name."""
    temporary = disk.temporary()
    with open(temporary, "wb", buffering=0) as out:
        for part in chosen:
            with open(part.path, "rb", buffering=0) as file:
                copy_bytes(file.fileno(), out.fileno(), part.size)
    sums = b"".join(bytes.fromhex(part.etag) for part in chosen)
    etag = f"{hashlib.md5(sums, usedforsecurity=False).hexdigest()}-{len(chosen)}"
    if disk.durable:
        sync_file(temporary)
    disk.put(bucket, upload.key, temporary, Note(etag, upload.headers))
    drop(disk, bucket, upload.id)
    return etag


def drop(disk: Disk, bucket: str, upload: str) -> None:
    shutil.rmtree(_folder(disk, bucket, upload), ignore_errors=True)


def copy_bytes(source: int, target: int, size: int) -> None:
    """Copy inside the kernel, from and to the current positions."""
    while size:
        try:
            count = os.copy_file_range(source, target, min(size, 1 << 30))
        except OSError:
            count = os.sendfile(target, source, None, min(size, 1 << 30))
        if not count:
            raise OSError(0, "the file is shorter than it was")
        size -= count


def _folder(disk: Disk, bucket: str, upload: str) -> str:
    name = upload if len(upload) == 32 and upload.isalnum() and upload.isascii() else "none"
    return os.path.join(disk.private, "uploads", keys.check_bucket(bucket), name)
