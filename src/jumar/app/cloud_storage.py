"""The storage half of `jumar cloud`: list, make, copy, synchronize and remove what is in buckets."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from jumar.cloud import sync as syncing
from jumar.cloud import target as targets
from jumar.cloud.address import Remote, parse, remote
from jumar.core.compat import dataclass
from jumar.core.errors import UserError

if TYPE_CHECKING:
    from jumar.cloud.store import ObjectEntry, Store
    from jumar.cloud.sync import Progress, SyncPlan


@dataclass(frozen=True, slots=True)
class StoreRequest:
    """Whose storage: a target by its name, and an endpoint instead of the target's own."""

    target: str | None = None
    endpoint: str | None = None


@dataclass(frozen=True, slots=True)
class CopyRequest:
    """From where to where, how files are compared, and how many are copied at a time."""

    source: str
    destination: str
    store: StoreRequest = StoreRequest()
    ignore: tuple[str, ...] = ()
    checksum: bool = False
    jobs: int | None = None
    dry: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """The buckets, or what is stored at one place."""

    place: Remote
    buckets: tuple[str, ...]
    entries: tuple[ObjectEntry, ...]


@dataclass(frozen=True, slots=True)
class Copied:
    """One file that was copied, or would be."""

    source: str
    destination: str


@dataclass(frozen=True, slots=True)
class Synced:
    """A folder that was made equal to another one, or would be: each copy, and how much of it there was."""

    copies: tuple[Copied, ...]
    bytes: int
    skipped: int
    removed: int
    seconds: float
    dry: bool
    left_out: tuple[str, ...] = ()
    """Links and special files that were not copied."""


def listing(address: str | None, request: StoreRequest, *, recursive: bool = False) -> Listing:
    """The buckets, or what is at an address: one level, or everything below."""
    place = remote(address) if address else Remote("obs", "", "")
    with _opened(request, place.scheme) as store:
        if not address:
            return Listing(place, tuple(store.buckets()), ())
        entries = tuple(store.entries(place.bucket, place.key, one_level=not recursive))
    if not entries and place.key:
        raise UserError(f"nothing is stored at `{place}`", f"`jumar cloud ls {place.scheme}://{place.bucket}/`")
    return Listing(place, (), entries)


def make_bucket(address: str, request: StoreRequest) -> Remote:
    place = remote(address)
    with _opened(request, place.scheme) as store:
        store.make_bucket(place.bucket)
    return place._replace(key="")


def remove(address: str, request: StoreRequest, *, recursive: bool = False, dry: bool = False) -> list[Remote]:
    """Remove an object, or everything below a folder; returns what was removed, or would be."""
    place = remote(address)
    if not place.key and not recursive:
        raise UserError(f"`{place}` is a whole bucket", "`-r` removes what is in it")
    with _opened(request, place.scheme) as store:
        if recursive:
            found = [entry.key for entry in store.entries(place.bucket, place.folder_key)]
        else:
            found = [place.key] if store.head(place.bucket, place.key) is not None else []
        if not found:
            raise UserError(f"nothing is stored at `{place}`", "`-r` removes a folder" if not recursive else None)
        if not dry:
            store.delete(place.bucket, found)
    return [place._replace(key=key) for key in found]


def copy_file(request: CopyRequest, progress: Progress | None = None) -> Copied:
    """Copy one file to or from a bucket, or one object between buckets."""
    start, end = parse(request.source), parse(request.destination)
    _check_remote(start, end, "obs://bucket/key")
    if isinstance(start, Path) and start.is_dir():
        raise UserError(
            f"`{request.source}` is a folder", "`-r` copies it; `jumar cloud sync` copies only what changed"
        )
    name = start.name if isinstance(start, Path) else start.key.rpartition("/")[2]
    if isinstance(end, Remote):
        end = end.child(name) if end.key == "" or end.key.endswith("/") else end
    elif end.is_dir() or request.destination.endswith(("/", "\\")):
        end = end / name
    if not request.dry:
        with _opened(request.store, _scheme(start, end)) as store:
            _copy_one(store, start, end, progress)
    return Copied(str(start), str(end))


def copy_folder(request: CopyRequest, progress: Progress | None = None, *, contents: bool = False) -> Synced:
    """Copy all of a folder, under its own name unless `contents` are asked for."""
    start, end = parse(request.source), parse(request.destination)
    _check_remote(start, end, "obs://bucket/key")
    return _folder(start, end if contents else _into(start, end), request, progress, everything=True)


def sync(request: CopyRequest, progress: Progress | None = None, *, delete: bool = False) -> Synced:
    """Make the destination equal the source: only what changed."""
    start, end = parse(request.source), parse(request.destination)
    return _folder(start, end, request, progress, delete=delete)


@contextlib.contextmanager
def _opened(request: StoreRequest, scheme: str) -> Iterator[Store]:
    """The store of a target, closed afterwards."""
    name = request.target or (targets.HUAWEICLOUD if request.endpoint else None)
    found = targets.find(name, targets.load_config(Path()))
    if request.endpoint:
        if found.is_local:
            raise UserError("`--endpoint` is not for the target `local`", "leave one of the two out")
        found = found._replace(obs_endpoint=request.endpoint)
    with contextlib.closing(targets.open_store(found, scheme)) as store:
        yield store


def _check_remote(start: Remote | Path, end: Remote | Path, example: str) -> None:
    if isinstance(start, Path) and isinstance(end, Path):
        raise UserError("both are local paths", f"write one of them as `{example}`")


def _scheme(start: Remote | Path, end: Remote | Path) -> str:
    return next(one.scheme for one in (start, end) if isinstance(one, Remote))


def _copy_one(store: Store, start: Remote | Path, end: Remote | Path, progress: Progress | None) -> None:
    if isinstance(start, Path):
        assert isinstance(end, Remote)
        syncing.copy_one(store, start, end, progress)
    elif isinstance(end, Path):
        syncing.fetch_one(store, start, end, progress)
    else:
        store.copy(start.bucket, start.key, end.bucket, end.key)


def _folder(
    start: Remote | Path,
    end: Remote | Path,
    request: CopyRequest,
    progress: Progress | None,
    *,
    everything: bool = False,
    delete: bool = False,
) -> Synced:
    _check_remote(start, end, "obs://bucket/folder/")
    how = syncing.SyncRequest(request.ignore, request.checksum, delete, everything)
    with _opened(request.store, _scheme(start, end)) as store:
        plan = _plan(store, start, end, how)
        began = time.monotonic()
        if not request.dry:
            syncing.run(store, plan, progress, request.jobs)
    took = max(time.monotonic() - began, 1e-6)
    copies = tuple(_copies(plan, start, end))
    return Synced(copies, plan.size, plan.skipped, len(plan.deletes), took, request.dry, plan.left_out)


def _plan(store: Store, start: Remote | Path, end: Remote | Path, how: syncing.SyncRequest) -> SyncPlan:
    if isinstance(start, Path):
        assert isinstance(end, Remote)
        return syncing.plan_upload(store, start, end, how)
    if isinstance(end, Path):
        return syncing.plan_download(store, start, end, how)
    raise UserError("both are in buckets", "`jumar cloud cp` copies one object between buckets")


def _copies(plan: SyncPlan, start: Remote | Path, end: Remote | Path) -> Iterator[Copied]:
    if isinstance(end, Remote):
        yield from (Copied(str(up.source.path), str(end.child(up.source.name))) for up in plan.uploads)
    if isinstance(start, Remote):
        yield from (Copied(str(start._replace(key=down.entry.key)), str(down.path)) for down in plan.downloads)


def _into(start: Remote | Path, end: Remote | Path) -> Remote | Path:
    """The folder itself goes into the destination, under its own name."""
    name = start.absolute().name if isinstance(start, Path) else start.key.rstrip("/").rpartition("/")[2]
    if not name:
        raise UserError(f"`{start}` has no name of its own", "add `--contents`")
    return end / name if isinstance(end, Path) else end.child(name + "/")
