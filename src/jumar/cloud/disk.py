"""Buckets and objects in a folder: the store of the stand-in, shared by its server and by the folder backend.

Objects are plain files. What a file cannot say (ETag, type, metadata) stands in a note that is found by inode, time and
size of the file: written before the file gets its name, so a kill at any moment leaves the old or the new object, each
with its own note. A file that somebody copied in has no note; its ETag is computed when it is asked for.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import stat
import threading
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from jumar.cloud import keys

PRIVATE = ".jumar"
"""Notes, uploads and temporary files; not a bucket name."""


class Stored(NamedTuple):
    """An object that is there."""

    key: str
    path: str
    size: int
    mtime_ns: int
    inode: int


class Note(NamedTuple):
    etag: str
    headers: Mapping[str, str]
    """`content-type` and the like, and `meta-NAME` for the user's own."""


class Disk:
    """The buckets of one folder; any number of threads and processes may use it at once."""

    def __init__(self, root: Path, *, durable: bool = False) -> None:
        self.root = str(root)
        self.durable = durable
        """Also survive a power cut: flush every file to the disk before it is acknowledged."""
        self.private = os.path.join(self.root, PRIVATE)
        self._count = 0
        self._lock = threading.Lock()
        self._ready = False
        self.clean()

    def _prepare(self) -> None:
        Path(self.root).mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in ("tmp", "notes", "uploads"):
            os.makedirs(os.path.join(self.private, name), mode=0o700, exist_ok=True)
        os.chmod(self.private, 0o700)
        self._ready = True

    def clean(self) -> None:
        """Remove what killed processes left half-written."""
        folder = os.path.join(self.private, "tmp")
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            process = name.partition("-")[0]
            if not process.isdecimal() or not _alive(int(process)):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))

    def buckets(self) -> list[tuple[str, float]]:
        if not os.path.isdir(self.root):
            return []
        with os.scandir(self.root) as found:
            return sorted(
                (item.name, item.stat().st_ctime)
                for item in found
                if item.is_dir(follow_symlinks=False) and item.name != PRIVATE
            )

    def has_bucket(self, bucket: str) -> bool:
        path = os.path.join(self.root, keys.check_bucket(bucket))
        return os.path.isdir(path) and not os.path.islink(path)

    def make_bucket(self, bucket: str) -> bool:
        """False when it was there already."""
        keys.check_bucket(bucket)
        self._prepare()
        try:
            os.mkdir(os.path.join(self.root, bucket))
        except FileExistsError:
            return False
        return True

    def remove_bucket(self, bucket: str) -> bool:
        """False when something is still in it."""
        if next(self.walk(bucket), None) is not None:
            return False
        shutil.rmtree(os.path.join(self.root, keys.check_bucket(bucket)))
        shutil.rmtree(os.path.join(self.private, "uploads", bucket), ignore_errors=True)
        return True

    def find(self, bucket: str, key: str) -> Stored | None:
        path = self._path(bucket, key)
        if self._link_above(bucket, path):
            return None
        for candidate in (path, path + keys.ASIDE):
            try:
                found = os.lstat(candidate)
            except (FileNotFoundError, NotADirectoryError):
                continue
            if stat.S_ISREG(found.st_mode):
                return Stored(key, candidate, found.st_size, found.st_mtime_ns, found.st_ino)
        return None

    def _link_above(self, bucket: str, path: str) -> bool:
        """Links are no part of the store: they could lead out of it."""
        top = os.path.join(self.root, bucket)
        folder = os.path.dirname(path)
        while folder != top:
            if os.path.islink(folder):
                return True
            folder = os.path.dirname(folder)
        return os.path.islink(top)

    def temporary(self) -> str:
        """A new name on the same file system."""
        with self._lock:
            if not self._ready:
                self._prepare()
            self._count += 1
            return os.path.join(self.private, "tmp", f"{os.getpid()}-{threading.get_ident()}-{self._count}")

    def put(self, bucket: str, key: str, temporary: str, note: Note | None) -> None:
        """Give a finished temporary file its name; the object is there at once, or not at all."""
        fresh = os.stat(temporary)
        if note is not None:
            self.write_note(bucket, Stored(key, temporary, fresh.st_size, fresh.st_mtime_ns, fresh.st_ino), note)
        if self.durable:
            sync_file(temporary)
        before = self.find(bucket, key)
        target = self._make_room(bucket, key)
        os.replace(temporary, target)
        if self.durable:
            sync_file(os.path.dirname(target))
        if before is not None:
            self._forget(bucket, before)
            if before.path != target:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(before.path)

    def remove(self, bucket: str, key: str) -> bool:
        """False when there was no such object; folders that are left empty go too."""
        found = self.find(bucket, key)
        if found is None:
            return False
        with contextlib.suppress(FileNotFoundError):
            os.unlink(found.path)
        self._forget(bucket, found)
        folder = os.path.dirname(found.path)
        top = os.path.join(self.root, bucket)
        while folder != top:
            try:
                os.rmdir(folder)
            except OSError:
                break
            folder = os.path.dirname(folder)
        return True

    def note(self, bucket: str, found: Stored) -> Note:
        """What is known about an object; computed and kept if nobody wrote it down."""
        try:
            with open(self._note_path(bucket, found), encoding="utf-8") as file:
                data = json.load(file)
            return Note(data["etag"], data["headers"])
        except (FileNotFoundError, ValueError):
            note = Note(md5_of(found.path), {})
            if (again := self.find(bucket, found.key)) == found and again is not None:
                self.write_note(bucket, found, note)
            return note

    def write_note(self, bucket: str, found: Stored, note: Note) -> None:
        path = self._note_path(bucket, found)
        temporary = self.temporary()
        data = json.dumps({"etag": note.etag, "headers": dict(note.headers)}).encode()
        for _ in range(2):
            try:
                write_file(temporary, data)
                os.replace(temporary, path)
                return
            except FileNotFoundError:
                os.makedirs(os.path.dirname(path), exist_ok=True)

    def walk(self, bucket: str, prefix: str = "", after: str = "") -> Iterator[Stored]:
        """All objects whose key begins with `prefix` and comes behind `after`, in the order of their UTF-8 bytes."""
        folder = prefix[: prefix.rfind("/") + 1]
        top = os.path.join(self.root, keys.check_bucket(bucket), keys.folder_path(folder))
        yield from self._walk(top, folder, prefix, after.encode())

    def _walk(self, folder: str, start: str, prefix: str, after: bytes) -> Iterator[Stored]:
        items: list[tuple[bytes, str, str, bool]] = []
        try:
            with os.scandir(folder) as found:
                for item in found:
                    is_folder = item.is_dir(follow_symlinks=False)
                    key = start + (keys.folder_name(item.name) if is_folder else keys.file_name(item.name))
                    items.append((key.encode(errors="surrogateescape"), key, item.name, is_folder))
        except (FileNotFoundError, NotADirectoryError):
            return
        items.sort()
        for raw, key, name, is_folder in items:
            path = f"{folder}/{name}"
            if is_folder:
                if (key.startswith(prefix) or prefix.startswith(key)) and (raw > after or after.startswith(raw)):
                    yield from self._walk(path, key, prefix, after)
            elif raw > after and key.startswith(prefix):
                with contextlib.suppress(FileNotFoundError):
                    about = os.lstat(path)
                    if not stat.S_ISREG(about.st_mode):
                        continue
                    yield Stored(key, path, about.st_size, about.st_mtime_ns, about.st_ino)

    def _path(self, bucket: str, key: str) -> str:
        return os.path.join(self.root, keys.check_bucket(bucket), keys.to_path(key))

    def _make_room(self, bucket: str, key: str) -> str:
        """The path for a new object, its folders made; objects that stand in the way of a folder step aside."""
        path = self._path(bucket, key)
        if self._link_above(bucket, path) or os.path.islink(path):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        folder = os.path.dirname(path)
        while True:
            try:
                os.makedirs(folder, exist_ok=True)
                break
            except (FileExistsError, NotADirectoryError):
                self._step_aside(bucket, folder)
        return path + keys.ASIDE if os.path.isdir(path) else path

    def _step_aside(self, bucket: str, folder: str) -> None:
        top = os.path.join(self.root, bucket)
        while folder != top:
            if os.path.isfile(folder):
                os.replace(folder, folder + keys.ASIDE)
                return
            folder = os.path.dirname(folder)

    def _note_path(self, bucket: str, found: Stored) -> str:
        name = f"{found.inode:x}-{found.mtime_ns:x}-{found.size:x}"
        return os.path.join(self.private, "notes", bucket, f"{found.inode & 255:02x}", name)

    def _forget(self, bucket: str, found: Stored) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._note_path(bucket, found))


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def new_id() -> str:
    return uuid.uuid4().hex


def write_file(path: str, data: bytes, *, flush: bool = False) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        if flush:
            os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def md5_of(path: str, start: int = 0, size: int | None = None) -> str:
    """MD5 of a file or of a part of it."""
    digest = hashlib.md5(usedforsecurity=False)
    buffer = bytearray(1 << 20)
    view = memoryview(buffer)
    with open(path, "rb", buffering=0) as file:
        file.seek(start)
        left = size if size is not None else -1
        while left:
            count = file.readinto(view if left < 0 or left > len(buffer) else view[:left])
            if not count:
                break
            digest.update(view[:count])
            left -= count if left > 0 else 0
    return digest.hexdigest()
