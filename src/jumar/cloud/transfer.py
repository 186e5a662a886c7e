"""Moves single files to and from a store; small ones in one piece, large ones in parts.

An upload is done when the store's ETag is the one computed here. A download is written beside its target, compared with
the ETag, and renamed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from concurrent.futures import Executor, Future
from types import TracebackType

from jumar.cloud import disk
from jumar.cloud.parts import Count, LargeDownload, LargeUpload
from jumar.cloud.store import ObjectEntry, Store
from jumar.cloud.store.folder import FolderStore
from jumar.cloud.verify import MIB, etag_of, read, retried, verified
from jumar.core.errors import UserError, cannot

LARGE = 16 * MIB


def upload(store: Store, source: str, bucket: str, key: str, pool: Executor, count: Count) -> Future[str]:
    """Send a file; the future is done when the object is there and verified."""
    if isinstance(store, FolderStore):
        return pool.submit(_copy_in, store, source, bucket, key, count)
    size = os.stat(source).st_size
    if size <= LARGE:
        return pool.submit(_send_small, store, source, bucket, key, count)
    return LargeUpload(store, source, size, bucket, key, count).start(pool)


def download(store: Store, bucket: str, entry: ObjectEntry, target: str, pool: Executor, count: Count) -> Future[str]:
    """Fetch an object; the future is done when the file is there under its name and verified."""
    if isinstance(store, FolderStore):
        return pool.submit(_copy_out, store, bucket, entry, target, count)
    if entry.size <= LARGE:
        return pool.submit(_fetch_small, store, bucket, entry, target, count)
    return LargeDownload(store, bucket, entry, target, count).start(pool)


def _copy_in(store: FolderStore, source: str, bucket: str, key: str, count: Count) -> str:
    try:
        store.put_file(bucket, key, source)
    except FileNotFoundError:
        raise UserError(f"`{source}` disappeared while it was copied") from None
    count(os.stat(source).st_size)
    return ""


def _copy_out(store: FolderStore, bucket: str, entry: ObjectEntry, target: str, count: Count) -> str:
    with Beside(target) as temporary:
        store.get_file(bucket, entry.key, temporary)
    count(entry.size)
    return ""


def _send_small(store: Store, source: str, bucket: str, key: str, count: Count) -> str:
    data = read(source, 0, None)
    md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()
    etag = retried(lambda: verified(store.put(bucket, key, data, md5), md5, f"{bucket}/{key}"))
    count(len(data))
    return etag


def _fetch_small(store: Store, bucket: str, entry: ObjectEntry, target: str, count: Count) -> str:
    def fetch() -> bytes:
        data = store.get(bucket, entry.key, 0, entry.size)
        if "-" not in entry.etag:
            found = hashlib.md5(data, usedforsecurity=False).hexdigest()
            verified(found, entry.etag, f"{bucket}/{entry.key}")
        return data

    data = retried(fetch)
    with Beside(target) as temporary:
        disk.write_file(temporary, data)
    if "-" in entry.etag and (found := etag_of(target, entry.size, entry.etag)) and found != entry.etag:
        os.unlink(target)
        raise UserError(f"`{bucket}/{entry.key}` arrived damaged", "fetch it again")
    count(entry.size)
    return entry.etag


class Beside:
    """A new name in the folder of a file, which becomes that file when all went well."""

    def __init__(self, target: str) -> None:
        self.target = target

    def __enter__(self) -> str:
        folder, name = os.path.split(os.path.abspath(self.target))
        self.name = os.path.join(folder, f".{name[:150]}.{os.getpid()}-{threading.get_ident()}.jumar-part")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.name)
        return self.name

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            os.chmod(self.name, 0o644)
            os.replace(self.name, self.target)
            return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.name)
        if isinstance(error, OSError):
            raise cannot(f"write `{self.target}`", error) from error
