"""Large files in parts on a pool of threads: an upload or download resumes after a kill."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from jumar.cloud import disk, lanes
from jumar.cloud.store import ObjectEntry, Part, Piece, Store
from jumar.cloud.store.folder import multipart_etag
from jumar.cloud.verify import part_length, part_size, retried, verified
from jumar.core.compat import zip
from jumar.core.errors import UserError
from jumar.runtime import home as account

Count = Callable[[int], None]
"""Told of bytes that have arrived."""


class Work:
    """Parts of one file on a pool; the last one to finish completes the file."""

    def __init__(self, count: Count) -> None:
        self.count = count
        self.result: Future[str] = Future()
        self.lock = threading.Lock()
        self.left = 0

    def spread(self, pool: Executor, numbers: list[int], finish: Callable[[], str]) -> Future[str]:
        self.left = len(numbers)
        if not numbers:
            pool.submit(self._end, finish)
        for number in numbers:
            pool.submit(self._one, functools.partial(self.do, number), finish)
        return self.result

    def do(self, number: int) -> None:
        raise NotImplementedError

    def attempt(self, work: Callable[[], None]) -> bool:
        """Do it unless something failed already; the first failure is the result."""
        if self.result.done():
            return False
        try:
            work()
        except BaseException as error:
            with self.lock:
                if not self.result.done():
                    self.result.set_exception(error)
            return False
        return True

    def _one(self, work: Callable[[], None], finish: Callable[[], str]) -> None:
        if not self.attempt(work):
            return
        with self.lock:
            self.left -= 1
            last = self.left == 0
        if last:
            self._end(finish)

    def _end(self, finish: Callable[[], str]) -> None:
        try:
            done = finish()
        except BaseException as error:
            self.result.set_exception(error)
        else:
            self.result.set_result(done)


class LargeUpload(Work):
    def __init__(self, store: Store, source: str, size: int, bucket: str, key: str, count: Count) -> None:
        super().__init__(count)
        self.store, self.source, self.size, self.bucket, self.key = store, source, size, bucket, key
        self.length = part_size(size)
        about = os.stat(source)
        self.stamp = [about.st_size, about.st_mtime_ns, about.st_ino]
        self.done: dict[int, Part] = {}
        self.sums: dict[int, str] = {}
        self.etags: dict[int, str] = {}
        self.id = ""
        self.checkpoint = checkpoint("up", store.name, bucket, key, os.path.abspath(source))

    def start(self, pool: Executor) -> Future[str]:
        """Parts are sent while their sums are computed; whichever is there second compares the two."""
        self._resume()
        numbers = [n for n in range(1, -(-self.size // self.length) + 1) if n not in self.done]
        self.count(sum(part.size for part in self.done.values()))
        size = lanes.group()
        groups = [numbers[at : at + size] for at in range(0, len(numbers), size)]
        self.left = len(numbers) + len(groups)
        if not numbers:
            pool.submit(self._end, self._finish)
        for group in groups:
            pool.submit(self._one, functools.partial(self._sum, group), self._finish)
            for number in group:
                pool.submit(self._one, functools.partial(self._send, number), self._finish)
        return self.result

    def _sum(self, group: list[int]) -> None:
        sums = lanes.digests(self.source, [self._slice(number) for number in group])
        for number, md5 in zip(group, sums, strict=True):
            self._meet(self.sums, number, md5)

    def _send(self, number: int) -> None:
        self._meet(self.etags, number, retried(lambda: self._part(number)))

    def _part(self, number: int) -> str:
        return self.store.part(self.bucket, self.key, self.id, number, Piece(self.source, *self._slice(number)))

    def _meet(self, known: dict[int, str], number: int, value: str) -> None:
        with self.lock:
            known[number] = value
            if number not in self.sums or number not in self.etags:
                return
        self._check(number)

    def _check(self, number: int) -> None:
        """A part that arrived damaged is sent again."""
        right, first = self.sums[number], [self.etags[number]]
        what = f"{self.bucket}/{self.key}"
        etag = retried(lambda: verified(first.pop() if first else self._part(number), right, what))
        size = self._slice(number)[1]
        with self.lock:
            self.done[number] = Part(number, etag, size)
        self.count(size)

    def _resume(self) -> None:
        """Go on with an upload of the very same file, if the store still has it."""
        known = load(self.checkpoint)
        if known.get("stamp") == self.stamp and known.get("length") == self.length:
            self.id = known["id"]
            there = retried(lambda: self.store.parts(self.bucket, self.key, self.id))
            if there is not None:
                whole = [part for part in there if part.size == self._slice(part.number)[1]]
                self.done = {part.number: part for part in whole if self._is_right(part)}
                return
        self.id = retried(lambda: self.store.begin(self.bucket, self.key))
        save(self.checkpoint, {"stamp": self.stamp, "length": self.length, "id": self.id})

    def _is_right(self, part: Part) -> bool:
        return disk.md5_of(self.source, *self._slice(part.number)) == part.etag

    def _slice(self, number: int) -> tuple[int, int]:
        start = (number - 1) * self.length
        return start, max(0, min(self.length, self.size - start))

    def _finish(self) -> str:
        about = os.stat(self.source)
        if [about.st_size, about.st_mtime_ns, about.st_ino] != self.stamp:
            self.store.abort(self.bucket, self.key, self.id)
            self.checkpoint.unlink(missing_ok=True)
            raise UserError(f"`{self.source}` changed while it was sent", "send it again when no program writes to it")
        parts = [self.done[number] for number in sorted(self.done)]
        right = multipart_etag([part.etag for part in parts])
        etag = retried(lambda: self._complete(parts, right))
        self.checkpoint.unlink(missing_ok=True)
        return verified(etag, right, f"{self.bucket}/{self.key}")

    def _complete(self, parts: list[Part], right: str) -> str:
        try:
            return self.store.finish(self.bucket, self.key, self.id, parts)
        except UserError:
            # An answer that was lost on the way: the object may be there already.
            there = self.store.head(self.bucket, self.key)
            if there is not None and there.etag == right:
                return right
            raise


class LargeDownload(Work):
    def __init__(self, store: Store, bucket: str, entry: ObjectEntry, target: str, count: Count) -> None:
        super().__init__(count)
        self.store, self.bucket, self.entry, self.target = store, bucket, entry, target
        parts = int(entry.etag.rpartition("-")[2]) if "-" in entry.etag else 0
        self.known_length = part_length(entry.size, parts) if parts else 0
        self.length = self.known_length or part_size(entry.size)
        folder, name = os.path.split(os.path.abspath(target))
        mark = hashlib.sha256(f"{store.name} {bucket}/{entry.key} {entry.etag}".encode()).hexdigest()[:12]
        self.temporary = os.path.join(folder, f".{name[:150]}.{mark}.jumar-part")
        self.journal = self.temporary + "s"
        self.there: set[int] = set()
        self.handle = -1

    def start(self, pool: Executor) -> Future[str]:
        self._resume()
        numbers = [n for n in range(-(-self.entry.size // self.length)) if n not in self.there]
        self.count(sum(self._slice(number)[1] for number in self.there))
        self.result.add_done_callback(lambda _: self._close())
        return self.spread(pool, numbers, self._finish)

    def _resume(self) -> None:
        """Parts that the journal names need not come again; the sum of the whole tells whether they are right."""
        size = os.stat(self.temporary).st_size if os.path.exists(self.temporary) else -1
        self.handle = os.open(self.temporary, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        if size != self.entry.size:
            os.ftruncate(self.handle, self.entry.size)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.journal)
        with contextlib.suppress(FileNotFoundError), open(self.journal, encoding="ascii") as file:
            for line in file:
                number = int(line) if line.endswith("\n") and line.strip().isdecimal() else -1
                if 0 <= number * self.length < self.entry.size:
                    self.there.add(number)

    def _slice(self, number: int) -> tuple[int, int]:
        start = number * self.length
        return start, min(self.length, self.entry.size - start)

    def do(self, number: int) -> None:
        start, size = self._slice(number)
        retried(lambda: self.store.fetch(self.bucket, self.entry.key, start, size, self.handle))
        with self.lock, open(self.journal, "a", encoding="ascii") as file:
            file.write(f"{number}\n")
        self.count(size)

    def _finish(self) -> str:
        etag = self.entry.etag
        found = etag
        if "-" not in etag:
            found = disk.md5_of(self.temporary)
        elif self.known_length:
            count = -(-self.entry.size // self.length)
            found = multipart_etag(lanes.digests(self.temporary, [self._slice(number) for number in range(count)]))
        if found != etag:
            self._drop()
            raise UserError(
                f"`{self.bucket}/{self.entry.key}` arrived damaged or was replaced in the meantime", "fetch it again"
            )
        os.chmod(self.temporary, 0o644)
        os.replace(self.temporary, self.target)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.journal)
        return etag

    def _drop(self) -> None:
        for path in (self.temporary, self.journal):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def _close(self) -> None:
        handle, self.handle = self.handle, -1
        if handle >= 0:
            os.close(handle)


def cache_dir() -> Path:
    top = os.environ.get("XDG_CACHE_HOME") or f"{account.path()}/.cache"
    return Path(top) / "jumar" / "cloud"


def checkpoint(*words: str) -> Path:
    name = hashlib.sha256("\n".join(words).encode(errors="surrogateescape")).hexdigest()[:32]
    folder = cache_dir() / "unfinished"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder / f"{name}.json"


def load(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def save(path: Path, data: dict[str, Any]) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(data, file)
    os.replace(name, path)
