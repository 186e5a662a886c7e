"""Copies files and folders between this machine and a store: first a plan that can be printed, then the doing.

What is unchanged is skipped: a manifest remembers size, time and ETag of what was copied, so that a file is not even
read again; without one, sums are compared.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

from jumar.cloud import ignore, keys, transfer, verify
from jumar.cloud.address import Remote
from jumar.cloud.parts import cache_dir
from jumar.cloud.store import ObjectEntry, Store
from jumar.cloud.store.folder import FolderStore
from jumar.core import links, write
from jumar.core.errors import UserError, cannot

WORKERS = 32
LOCAL_WORKERS = 4
"""On this machine the processor is the limit, not the way there."""
FOLDER_WORKERS = 2
"""Copies on one disk only get in each other's way."""
Progress = Callable[[int, int], None]
"""Told how many bytes are done, and how many there are."""


class Upload(NamedTuple):
    source: ignore.Local
    key: str


class Download(NamedTuple):
    entry: ObjectEntry
    path: str
    name: str


class SyncPlan(NamedTuple):
    """What is to be done; nothing has happened yet."""

    place: Remote
    folder: Path
    uploads: tuple[Upload, ...] = ()
    downloads: tuple[Download, ...] = ()
    deletes: tuple[str, ...] = ()
    """Keys, or for a download paths, that are only at the target."""
    fetches: bool = False
    """The target is this machine."""
    skipped: int = 0
    left_out: tuple[str, ...] = ()
    """What is no file: links to folders, links that lead nowhere, pipes."""

    @property
    def size(self) -> int:
        return sum(up.source.size for up in self.uploads) + sum(down.entry.size for down in self.downloads)

    @property
    def files(self) -> int:
        return len(self.uploads) + len(self.downloads)


class SyncRequest(NamedTuple):
    """How to compare and what to leave out."""

    patterns: tuple[str, ...] = ()
    checksum: bool = False
    """Read every file again, whatever its time says."""
    delete: bool = False
    everything: bool = False
    """Copy also what seems unchanged."""
    new_bucket: bool = False
    """A bucket that is not there will be made before the plan is carried out."""
    within: Path | None = None
    """Leave out links that lead out of this folder."""


PLAIN = SyncRequest()


def plan_upload(store: Store, folder: Path, place: Remote, request: SyncRequest = PLAIN) -> SyncPlan:
    """The contents of a folder into a folder of the store."""
    if not folder.is_dir():
        raise UserError(f"no such folder: `{folder}`" if not folder.exists() else f"`{folder}` is not a folder")
    patterns = ignore.compile_patterns([*ignore.ALWAYS, *ignore.read_lines(folder), *request.patterns])
    is_missing = request.new_bucket and place.bucket not in store.buckets()
    there = {} if is_missing else {entry.key: entry for entry in store.entries(place.bucket, place.folder_key)}
    known = _Manifest(store, folder, place)
    found: list[Upload] = []
    skipped = 0
    wanted = set()
    left_out: list[str] = []
    for local in ignore.walk(folder, patterns, left_out, request.within):
        key = place.child(local.name).key
        if not keys.is_key(key):
            raise UserError(f"`{local.path}` cannot be a key in a bucket", "rename it: 1024 bytes of UTF-8 at most")
        wanted.add(key)
        entry = there.get(key)
        if entry is not None and not request.everything and _same(store, place.bucket, local, entry, known, request):
            skipped += 1
        else:
            found.append(Upload(local, key))
    extra = tuple(key for key in there if key not in wanted and not key.endswith("/")) if request.delete else ()
    return SyncPlan(place, folder, uploads=tuple(found), deletes=extra, skipped=skipped, left_out=tuple(left_out))


def plan_download(store: Store, place: Remote, folder: Path, request: SyncRequest = PLAIN) -> SyncPlan:
    """The contents of a folder of the store into a folder."""
    patterns = ignore.compile_patterns([*ignore.ALWAYS, *request.patterns])
    known = _Manifest(store, folder, place)
    found: list[Download] = []
    skipped = 0
    wanted = set()
    empty = True
    for entry in store.entries(place.bucket, place.folder_key):
        empty = False
        name = entry.key[len(place.folder_key) :]
        if not name or name.endswith("/") or ignore.ignored(name, False, patterns):
            continue
        path = _inside(folder, name)
        wanted.add(path)
        local = _local(path, name)
        if local is not None and not request.everything and _same(store, place.bucket, local, entry, known, request):
            skipped += 1
        else:
            found.append(Download(entry, path, name))
    if empty:
        raise UserError(
            f"nothing is stored at `{place}`", f"`jumar cloud ls {place.scheme}://{place.bucket}/` shows what is"
        )
    here = ignore.walk(folder, patterns) if request.delete and folder.is_dir() else ()
    extra = tuple(item.path for item in here if item.path not in wanted)
    return SyncPlan(place, folder, downloads=tuple(found), deletes=extra, fetches=True, skipped=skipped)


def run(store: Store, plan: SyncPlan, progress: Progress | None = None, workers: int | None = None) -> None:
    """Do what a plan says; raises on the first failure, and what was finished stays."""
    manifest = _Manifest(store, plan.folder, plan.place)
    count = _counter(plan.size, progress)
    pool = ThreadPoolExecutor(workers or _workers(store))
    for folder in sorted({os.path.dirname(down.path) for down in plan.downloads}):
        _make_folder(folder)
    started: dict[Future[str], ignore.Local | Download] = {}
    try:
        for up in plan.uploads:
            started[transfer.upload(store, up.source.path, plan.place.bucket, up.key, pool, count)] = up.source
        for down in plan.downloads:
            started[transfer.download(store, plan.place.bucket, down.entry, down.path, pool, count)] = down
        done, _ = wait(started, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        manifest.keep((item, future.result()) for future, item in started.items() if _succeeded(future))
    if plan.fetches:
        for path in plan.deletes:
            os.unlink(path)
    elif plan.deletes:
        store.delete(plan.place.bucket, plan.deletes)


def _workers(store: Store) -> int:
    if isinstance(store, FolderStore):
        return FOLDER_WORKERS
    return LOCAL_WORKERS if store.local else WORKERS


def copy_one(store: Store, source: Path, place: Remote, progress: Progress | None = None) -> None:
    """One file to one key."""
    local = _local(str(source), source.name)
    if local is None:
        raise UserError(f"no such file: `{source}`")
    plan = SyncPlan(place, source.parent, uploads=(Upload(local, place.key),))
    run(store, plan, progress)


def fetch_one(store: Store, place: Remote, target: Path, progress: Progress | None = None) -> None:
    """One object to one file."""
    entry = store.head(place.bucket, place.key)
    if entry is None:
        raise UserError(f"no such object: `{place}`", "`jumar cloud ls` shows what is there; `-r` copies a folder")
    plan = SyncPlan(place, target.parent, downloads=(Download(entry, str(target), target.name),))
    run(store, plan, progress)


def _same(
    store: Store, bucket: str, local: ignore.Local, entry: ObjectEntry, known: _Manifest, request: SyncRequest
) -> bool:
    if local.size != entry.size:
        return False
    if isinstance(store, FolderStore) and not request.checksum:
        return local.mtime_ns == entry.mtime_ns
    etag = entry.etag or (store.etag(bucket, entry.key) if isinstance(store, FolderStore) else "")
    if not request.checksum and known.etag(local) == etag:
        return True
    return verify.etag_of(local.path, local.size, etag) == etag


class _Manifest:
    """What was copied between a folder and a place, by name: size, time and ETag."""

    def __init__(self, store: Store, folder: Path, place: Remote) -> None:
        words = f"{store.name}\n{folder.absolute()}\n{place.bucket}/{place.folder_key}"
        name = hashlib.sha256(words.encode(errors="surrogateescape")).hexdigest()[:32]
        self.path = cache_dir() / "manifests" / f"{name}.json"
        self.rows: dict[str, list[int | str]] = {}
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            self.rows = found if isinstance(found, dict) else {}
        except (OSError, ValueError):
            pass

    def etag(self, local: ignore.Local) -> str | None:
        row = self.rows.get(local.name)
        return str(row[2]) if row and row[:2] == [local.size, local.mtime_ns] else None

    def keep(self, done: Iterable[tuple[ignore.Local | Download, str]]) -> None:
        changed = False
        for item, etag in done:
            local = _local(item.path, item.name) if isinstance(item, Download) else item
            if local is not None and etag:
                self.rows[local.name] = [local.size, local.mtime_ns, etag]
                changed = True
        if changed:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write.replace(self.path, json.dumps(self.rows).encode(errors="surrogatepass"))


def _inside(folder: Path, name: str) -> str:
    """The path of a key's name below a folder; a key can say `..`, and must not lead out."""
    parts = name.split("/")
    if any(part in ("", ".", "..") or (os.altsep and "\\" in part) for part in parts):
        raise UserError(f"the key `{name}` cannot be a file below `{folder}`", "fetch it alone, under another name")
    return os.path.join(folder, *parts)


def _make_folder(folder: str) -> None:
    links.inside(folder or ".")
    try:
        os.makedirs(folder or ".", exist_ok=True)
    except OSError as error:
        raise cannot(f"make the folder `{folder}`", error) from error


def _local(path: str, name: str) -> ignore.Local | None:
    try:
        about = os.stat(path)
    except OSError:
        return None
    return ignore.Local(name, path, about.st_size, about.st_mtime_ns) if os.path.isfile(path) else None


def _succeeded(future: Future[str]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _counter(total: int, progress: Progress | None) -> Callable[[int], None]:
    lock = threading.Lock()
    done = 0

    def count(size: int) -> None:
        nonlocal done
        with lock:
            done += size
            if progress is not None:
                progress(done, total)

    return count
