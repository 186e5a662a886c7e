"""The store of the stand-in, straight from its folder: no server, no copies through a socket, the speed of `cp`."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from jumar.cloud import keys, uploads
from jumar.cloud.disk import Disk, Note, write_file
from jumar.cloud.store import ObjectEntry, Part, Piece, failure, write_at
from jumar.core.errors import UserError, cannot


class FolderStore:
    local = True

    def __init__(self, root: Path) -> None:
        self.disk = Disk(root)
        self.name = f"folder:{root}"

    def close(self) -> None:
        """Nothing is held open."""

    def buckets(self) -> list[str]:
        return [name for name, _ in self.disk.buckets()]

    def make_bucket(self, bucket: str) -> None:
        self.disk.make_bucket(bucket)

    def entries(self, bucket: str, prefix: str = "", *, one_level: bool = False) -> Iterator[ObjectEntry]:
        self._check(bucket)
        if not one_level:
            for one in self.disk.walk(bucket, prefix):
                yield ObjectEntry(one.key, one.size, "", one.mtime_ns)
            return
        found = self.disk.walk(bucket, prefix)
        while (item := next(found, None)) is not None:
            end = item.key.find("/", len(prefix))
            if end < 0:
                yield ObjectEntry(item.key, item.size, "", item.mtime_ns)
                continue
            yield ObjectEntry(item.key[: end + 1], 0, "", 0)
            found = self.disk.walk(bucket, prefix, item.key[: end + 1] + "\U0010ffff")

    def head(self, bucket: str, key: str) -> ObjectEntry | None:
        self._check(bucket)
        found = self.disk.find(bucket, key)
        return ObjectEntry(key, found.size, "", found.mtime_ns) if found else None

    def etag(self, bucket: str, key: str) -> str:
        found = self.disk.find(bucket, key)
        return self.disk.note(bucket, found).etag if found else ""

    def put(self, bucket: str, key: str, data: bytes, md5: str) -> str:
        self._check(bucket, key)
        temporary = self.disk.temporary()
        with self._whole(temporary, key):
            write_file(temporary, data)
            self.disk.put(bucket, key, temporary, Note(md5, {}))
        return md5

    def put_file(self, bucket: str, key: str, source: str) -> None:
        """Copy a file in, with its time: a later sync compares that."""
        self._check(bucket, key)
        temporary = self.disk.temporary()
        with self._whole(temporary, key):
            copy_file(source, temporary)
            self.disk.put(bucket, key, temporary, None)

    def get_file(self, bucket: str, key: str, target: str) -> None:
        """Copy an object out to a new file."""
        found = self.disk.find(bucket, key)
        if found is None:
            raise failure(404, "NoSuchKey", "", f"`{bucket}/{key}`")
        copy_file(found.path, target)

    def get(self, bucket: str, key: str, start: int, size: int) -> bytes:
        self._check(bucket)
        found = self.disk.find(bucket, key)
        if found is None:
            raise failure(404, "NoSuchKey", "", f"`{bucket}/{key}`")
        with open(found.path, "rb", buffering=0) as file:
            return os.pread(file.fileno(), size, start)

    def copy(self, bucket: str, key: str, to_bucket: str, to_key: str) -> None:
        found = self.disk.find(bucket, key)
        if found is None:
            raise failure(404, "NoSuchKey", "", f"`{bucket}/{key}`")
        self.put_file(to_bucket, to_key, found.path)

    def delete(self, bucket: str, keys: Sequence[str]) -> None:
        self._check(bucket)
        for key in keys:
            self.disk.remove(bucket, key)

    def begin(self, bucket: str, key: str) -> str:
        self._check(bucket, key)
        return uploads.begin(self.disk, bucket, key, {})

    def part(self, bucket: str, key: str, upload: str, number: int, piece: Piece) -> str:
        temporary = self.disk.temporary()
        data = piece.read()
        md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()
        with self._whole(temporary, key):
            write_file(temporary, data)
            uploads.add(self.disk, bucket, upload, number, temporary, md5)
        return md5

    def fetch(self, bucket: str, key: str, start: int, size: int, handle: int) -> None:
        write_at(handle, self.get(bucket, key, start, size), start)

    def parts(self, bucket: str, key: str, upload: str) -> list[Part] | None:
        found = uploads.find(self.disk, bucket, upload)
        if found is None or found.key != key:
            return None
        return [Part(part.number, part.etag, part.size) for part in uploads.parts(self.disk, bucket, upload)]

    def finish(self, bucket: str, key: str, upload: str, parts: Sequence[Part]) -> str:
        found = uploads.find(self.disk, bucket, upload)
        assert found is not None
        there = {part.number: part for part in uploads.parts(self.disk, bucket, upload)}
        return uploads.finish(self.disk, bucket, found, [there[part.number] for part in parts])

    def abort(self, bucket: str, key: str, upload: str) -> None:
        uploads.drop(self.disk, bucket, upload)

    def _check(self, bucket: str, key: str = "-") -> None:
        if not self.disk.has_bucket(bucket):
            raise failure(404, "NoSuchBucket", "", f"`{bucket}`")
        if not keys.is_key(key):
            raise UserError(f"not a key: `{key[:80]}`", "a key is 1 to 1024 bytes of UTF-8")

    @contextlib.contextmanager
    def _whole(self, temporary: str, key: str) -> Iterator[None]:
        """Nothing is left of what could not be finished."""
        try:
            yield
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise failure(507, "InsufficientStorage", "", f"`{key}`") from error
            raise cannot(f"store `{key}`", error) from error


def copy_file(source: str, target: str) -> None:
    """Bytes and times of a file, copied by the kernel."""
    with open(source, "rb", buffering=0) as file, open(target, "xb", buffering=0) as out:
        about = os.fstat(file.fileno())
        uploads.copy_bytes(file.fileno(), out.fileno(), about.st_size)
        os.utime(out.fileno(), ns=(about.st_atime_ns, about.st_mtime_ns))


def multipart_etag(sums: Sequence[str]) -> str:
    """The ETag that a store gives to an object of several parts."""
    joined = b"".join(bytes.fromhex(one) for one in sums)
    return f"{hashlib.md5(joined, usedforsecurity=False).hexdigest()}-{len(sums)}"
