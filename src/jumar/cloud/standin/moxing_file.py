"""`moxing.file` for jobs of the stand-in: every function takes a local path, `s3://…` or `obs://…`.

Semantics after ModelArts-Lab docs/moxing_api_doc/MoXing_API_File_apidoc.md (huaweicloud/ModelArts-Lab@ce1a275f, read
2026-11-15): `copy` is for one file, `copy_parallel` for the contents of a folder.
"""

from __future__ import annotations

import builtins
import fnmatch
import glob as local_glob
import hashlib
import io
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jumar.cloud import address, sync, target
from jumar.cloud.address import Remote
from jumar.cloud.store.folder import FolderStore

_REAL: dict[tuple[Any, str], Any] = {}
"""What `shift` has replaced."""


class MoxFileNotExistsException(FileNotFoundError):
    """As MoXing names it."""


class Stat(NamedTuple):
    length: int
    mtime_nsec: int
    is_directory: bool


def copy(src_url: str, dst_url: str) -> None:
    """One file; a folder is refused."""
    if is_directory(src_url) and not _is_file(src_url):
        raise OSError(f"{src_url} is a folder: use copy_parallel")
    _need(src_url)
    if _place(dst_url) is None:
        _real(os, "makedirs")(os.path.dirname(dst_url) or ".", exist_ok=True)
    write(dst_url, read(src_url, binary=True), binary=True)


def copy_parallel(
    src_url: str,
    dst_url: str,
    file_list: Iterable[str] | None = None,
    threads: int = 16,
    is_processing: bool = True,
    use_queue: bool = True,
) -> None:
    """The contents of a folder into a folder."""
    if _is_file(src_url) and not is_directory(src_url):
        return copy(src_url, dst_url)
    _need(src_url)
    if file_list is not None:
        for name in file_list:
            copy(_join(src_url, name), _join(dst_url, name))
        return None
    source, end = _place(src_url), _place(dst_url)
    store = _store()
    if source is None and end is None:
        shutil.copytree(src_url, dst_url, dirs_exist_ok=True)
    elif source is None and end is not None:
        sync.run(store, sync.plan_upload(store, Path(src_url), end), workers=threads)
    elif source is not None and end is None:
        sync.run(store, sync.plan_download(store, source, Path(dst_url)), workers=threads)
    else:
        for name in list_directory(src_url, recursive=True, skip_dir=True):
            copy(_join(src_url, name), _join(dst_url, name))
    return None


def exists(url: str) -> bool:
    """Also true for a folder, which in a bucket is any prefix that something is below."""
    return _is_file(url) or is_directory(url)


def is_directory(url: str) -> bool:
    place = _place(url)
    if place is None:
        return bool(_real(os.path, "isdir")(url))
    if not place.key:
        return _store().disk.has_bucket(place.bucket)
    return next(_store().disk.walk(place.bucket, place.folder_key), None) is not None


def list_directory(
    url: str, recursive: bool = False, skip_file: bool = False, skip_dir: bool = False, only_dir: bool = False
) -> list[str]:
    """Names below a folder."""
    if not is_directory(url):
        raise MoxFileNotExistsException(f"no such folder: {url}")
    files, folders = _names(url)
    names = ([] if skip_file or only_dir else files) + ([] if skip_dir else sorted(folders))
    return sorted(names if recursive else [name for name in names if "/" not in name])


def make_dirs(url: str) -> None:
    place = _place(url)
    if place is None:
        _real(os, "makedirs")(url, exist_ok=True)
    elif place.key:
        _mark(place)


def mk_dir(url: str) -> None:
    """One folder; its parent must be there."""
    if exists(url):
        raise OSError(f"it already exists: {url}")
    place = _place(url)
    if place is None:
        _real(os, "mkdir")(url)
        return
    parent = place.key.rstrip("/").rpartition("/")[0]
    if parent and not is_directory(str(place._replace(key=parent))):
        raise OSError(f"the parent folder is missing: {url}")
    _mark(place)


def remove(url: str, recursive: bool = False) -> None:
    """A file, or with `recursive` a folder; a folder without it stays, as with MoXing."""
    _need(url)
    place = _place(url)
    if place is None:
        if not _real(os.path, "isdir")(url):
            _real(os, "remove")(url)
        elif recursive:
            shutil.rmtree(url)
        return
    if _is_file(url):
        _store().delete(place.bucket, [place.key])
    elif recursive:
        _store().delete(place.bucket, [entry.key for entry in _store().entries(place.bucket, place.folder_key)])


def rename(src_url: str, dst_url: str) -> None:
    _need(src_url)
    if _place(src_url) is None and _place(dst_url) is None:
        _real(os, "rename")(src_url, dst_url)
        return
    if _is_file(src_url):
        copy(src_url, dst_url)
        remove(src_url)
    else:
        copy_parallel(src_url, dst_url)
        remove(src_url, recursive=True)


def read(url: str, client_id: str | None = None, binary: bool = False) -> Any:
    _need(url)
    place = _place(url)
    if place is None:
        with _real(builtins, "open")(url, "rb") as file:
            data: bytes = file.read()
    else:
        entry = _store().head(place.bucket, place.key)
        if entry is None:
            raise MoxFileNotExistsException(f"no such file: {url}")
        data = _store().get(place.bucket, place.key, 0, entry.size)
    return data if binary else data.decode()


def write(url: str, content: Any, client_id: str | None = None, binary: bool = False) -> None:
    data = content if isinstance(content, bytes) else str(content).encode()
    place = _place(url)
    if place is None:
        with _real(builtins, "open")(url, "wb") as file:
            file.write(data)
        return
    _store().put(place.bucket, place.key, data, hashlib.md5(data, usedforsecurity=False).hexdigest())


def append(url: str, content: Any, client_id: str | None = None, binary: bool = False) -> None:
    before = read(url, binary=True) if _is_file(url) else b""
    write(url, before + (content if isinstance(content, bytes) else str(content).encode()), binary=True)


def get_size(url: str, recursive: bool = False) -> int:
    _need(url)
    if _is_file(url):
        return stat(url).length
    return sum(stat(_join(url, name)).length for name in _names(url)[0]) if recursive else 0


def stat(url: str) -> Stat:
    _need(url)
    place = _place(url)
    if place is None:
        about = _real(os, "stat")(url)
        return Stat(about.st_size, about.st_mtime_ns, _real(os.path, "isdir")(url))
    entry = _store().head(place.bucket, place.key) if place.key else None
    return Stat(entry.size, entry.mtime_ns, False) if entry else Stat(0, 0, True)


def glob(file_pattern: str) -> list[str]:
    place = _place(file_pattern)
    if place is None:
        return sorted(local_glob.glob(file_pattern))
    top = f"{place.scheme}://{place.bucket}"
    files, folders = _names(f"{top}/")
    depth = place.key.count("/")
    names = [name for name in (*files, *folders) if name.count("/") == depth]
    return sorted(f"{top}/{name}" for name in names if fnmatch.fnmatchcase(name, place.key))


def walk(url: str) -> Iterator[tuple[str, list[str], list[str]]]:
    if _place(url) is None:
        yield from _real(os, "walk")(url)
        return
    inside = list_directory(url)
    folders = [name for name in inside if is_directory(_join(url, name))]
    yield url, folders, [name for name in inside if _is_file(_join(url, name))]
    for name in folders:
        yield from walk(_join(url, name))


def set_auth(*_: Any, **__: Any) -> None:
    """Nothing to do: the store of the stand-in belongs to the user who runs the job."""


class File:
    """A file in a bucket, read and written as a whole: `r`, `w`, `a`, with `b` in any place, and `+`."""

    def __init__(self, name: str, mode: str = "r") -> None:
        self.name, self.mode = name, mode
        kind = mode.replace("b", "").replace("t", "").rstrip("+")
        self.binary = "b" in mode
        self.changes = kind in ("w", "a") or "+" in mode
        data = b"" if kind == "w" or (kind == "a" and not _is_file(name)) else read(name, binary=True)
        self.buffer: Any = io.BytesIO(data) if self.binary else io.StringIO(data.decode())
        if kind == "a":
            self.buffer.seek(0, os.SEEK_END)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.buffer, name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.buffer)

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def size(self) -> int:
        return get_size(self.name)

    def flush(self) -> None:
        if self.changes:
            write(self.name, self.buffer.getvalue())

    def close(self) -> None:
        if not self.buffer.closed:
            self.flush()
            self.buffer.close()


def shift(source: str, destination: str) -> None:
    """`shift('os', 'mox')` lets open and os take addresses too; `shift('mox', 'os')` takes that back."""
    if (source, destination) == ("mox", "os"):
        for (owner, name), real in _REAL.items():
            setattr(owner, name, real)
        _REAL.clear()
        return
    if (source, destination) != ("os", "mox"):
        raise ValueError("shift knows ('os', 'mox') and ('mox', 'os')")
    if _REAL:
        return
    for owner, name, ours in _SHIFTED:
        real = getattr(owner, name)
        _REAL[owner, name] = real
        setattr(owner, name, _either(real, ours))


def _either(real: Any, ours: Any) -> Any:
    def call(path: Any, *rest: Any, **named: Any) -> Any:
        remote = any(_place(word) is not None for word in (path, *rest[:1]) if isinstance(word, str))
        return ours(path, *rest, **named) if remote else real(path, *rest, **named)

    return call


_SHIFTED: list[tuple[Any, str, Any]] = [
    (builtins, "open", lambda path, mode="r", *rest, **named: File(path, mode)),
    (os, "listdir", list_directory),
    (os, "makedirs", lambda path, *rest, **named: make_dirs(path)),
    (os, "mkdir", lambda path, *rest, **named: mk_dir(path)),
    (os, "remove", remove),
    (os, "rename", rename),
    (os, "walk", walk),
    (os.path, "exists", exists),
    (os.path, "getsize", get_size),
    (os.path, "isdir", is_directory),
    (os.path, "isfile", lambda path: _is_file(path)),
    (shutil, "copy", copy),
    (shutil, "copyfile", copy),
    (shutil, "copytree", lambda source, end, *rest, **named: copy_parallel(source, end)),
]


def _real(owner: Any, name: str) -> Any:
    return _REAL.get((owner, name), getattr(owner, name))


def _store() -> FolderStore:
    return FolderStore(target.home() / "store")


def _place(url: str) -> Remote | None:
    if not isinstance(url, str) or not url.startswith(("s3://", "obs://")):
        return None
    found = address.parse(url)
    assert isinstance(found, Remote)
    return found


def _is_file(url: str) -> bool:
    place = _place(url)
    if place is None:
        return bool(_real(os.path, "isfile")(url))
    return bool(place.key) and not place.key.endswith("/") and _store().head(place.bucket, place.key) is not None


def _need(url: str) -> None:
    if not exists(url):
        raise MoxFileNotExistsException(f"no such file or folder: {url}")


def _mark(place: Remote) -> None:
    _store().put(place.bucket, place.folder_key, b"", hashlib.md5(usedforsecurity=False).hexdigest())


def _join(url: str, name: str) -> str:
    return f"{url.rstrip('/')}/{name}"


def _names(url: str) -> tuple[list[str], set[str]]:
    """All files and folders below, by their relative names."""
    place = _place(url)
    if place is not None:
        names = [entry.key[len(place.folder_key) :] for entry in _store().entries(place.bucket, place.folder_key)]
    else:
        names = [os.path.relpath(os.path.join(top, name), url) + ("/" if name in dirs else "")
                 for top, dirs, files in _real(os, "walk")(url) for name in (*dirs, *files)]  # fmt: skip
    folders = {name[:at] for name in names for at, letter in enumerate(name) if letter == "/"}
    return [name for name in names if name and not name.endswith("/")], folders
