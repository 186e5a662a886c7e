"""Folders go to each backend and come back equal; unchanged files stay; damage and failures are seen."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import pytest

from jumar.cloud import sync, transfer, verify
from jumar.cloud.address import Remote, parse, remote
from jumar.cloud.store import Transient
from jumar.cloud.store.folder import FolderStore
from jumar.core.errors import UserError

PLACE = Remote("obs", "bucket-1", "data/")


def _tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    top = tmp_path / "source"
    for name in ("a.txt", "sub/b b.bin", "sub/deep/é.bin", "empty"):
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"" if name == "empty" else os.urandom(1000))
    return top


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files above 1 MiB go in parts of 1 MiB."""
    monkeypatch.setattr(verify, "PART", 1 << 20)
    monkeypatch.setattr(transfer, "LARGE", 1 << 20)


def _up(store: Any, folder: Path, **wish: Any) -> sync.SyncPlan:
    plan = sync.plan_upload(store, folder, PLACE, sync.SyncRequest(**wish))
    sync.run(store, plan)
    return plan


def _down(store: Any, folder: Path, **wish: Any) -> sync.SyncPlan:
    plan = sync.plan_download(store, PLACE, folder, sync.SyncRequest(**wish))
    sync.run(store, plan)
    return plan


def test_a_folder_comes_back_equal_and_unchanged_files_are_skipped(
    store: Any, folder: Path, tmp_path: Path, small_parts: None
) -> None:
    (folder / "large.bin").write_bytes(os.urandom(3_500_000))
    assert _up(store, folder).files == 5
    assert _up(store, folder).skipped == 5
    back = tmp_path / "back"
    assert _down(store, back).files == 5
    assert _tree(back) == _tree(folder)
    assert _down(store, back).skipped == 5
    assert not [path for path in tmp_path.rglob("*.jumar-part*") if path.is_file()]


def test_a_changed_file_is_sent_again_and_a_touched_one_is_not(store: Any, folder: Path) -> None:
    _up(store, folder)
    (folder / "a.txt").write_bytes(os.urandom(1000))
    assert [up.key for up in _up(store, folder).uploads] == ["data/a.txt"]
    if not isinstance(store, FolderStore):
        os.utime(folder / "a.txt", ns=(1, 1))
        assert _up(store, folder).files == 0


def test_the_manifest_saves_reading_and_checksum_reads_again(
    store: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _up(store, folder)
    read: list[str] = []
    real = verify.etag_of
    monkeypatch.setattr(verify, "etag_of", lambda path, *rest: read.append(path) or real(path, *rest))
    _up(store, folder)
    assert read == []
    assert _up(store, folder, checksum=True).skipped == 4
    assert len(read) == 4


def test_delete_removes_only_what_is_extra(store: Any, folder: Path, tmp_path: Path) -> None:
    _up(store, folder)
    (folder / "a.txt").unlink()
    assert _up(store, folder, delete=True).deletes == ("data/a.txt",)
    assert [entry.key for entry in store.entries("bucket-1", "data/")] == [
        "data/empty", "data/sub/b b.bin", "data/sub/deep/é.bin"]  # fmt: skip
    back = tmp_path / "back"
    _down(store, back)
    (back / "extra").write_text("x")
    _down(store, back, delete=True)
    assert _tree(back) == _tree(folder)


def test_ignore_files_and_patterns(store: Any, folder: Path) -> None:
    (folder / ".jumarignore").write_text("# comment\n*.bin\n!sub/b b.bin\n.jumarignore\n")
    (folder / "skip.me").write_text("x")
    _up(store, folder, patterns=("skip.*",))
    assert [entry.key for entry in store.entries("bucket-1", "data/")] == [
        "data/a.txt",
        "data/empty",
        "data/sub/b b.bin",
    ]


def test_one_level_shows_folders(store: Any, folder: Path) -> None:
    _up(store, folder)
    assert [entry.key for entry in store.entries("bucket-1", "data/", one_level=True)] == [
        "data/a.txt", "data/empty", "data/sub/"]  # fmt: skip


def test_wrong_bucket_and_missing_object(store: Any, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="`missing-1`: no such bucket"):
        sync.plan_upload(store, folder, Remote("obs", "missing-1", ""))
    with pytest.raises(UserError, match="no such object: `obs://bucket-1/none`"):
        sync.fetch_one(store, Remote("obs", "bucket-1", "none"), tmp_path / "x")
    with pytest.raises(UserError, match="nothing is stored at `obs://bucket-1/data/`"):
        _down(store, tmp_path / "back")
    assert store.head("bucket-1", "none") is None


def test_wrong_keys_are_refused(loopback: Any) -> None:
    pytest.importorskip("obs", reason="esdk-obs-python is the official client of OBS")
    from jumar.cloud.credentials import Credentials
    from jumar.cloud.store.obs import Endpoint, ObsStore

    pair = Credentials("JUMARTESTACCESSKEY00", "not-the-secret", f"127.0.0.1:{loopback.server.port}")
    store = ObsStore(Endpoint(loopback.endpoint, "local"), pair)
    with contextlib.closing(store), pytest.raises(UserError, match="SignatureDoesNotMatch") as caught:
        store.buckets()
    assert "not-the-secret" not in f"{caught.value.message} {caught.value.hint}"


class _Flaky:
    """A store whose first calls of each kind fail or lie."""

    local = True

    def __init__(self, real: Any, *, lie: bool = False) -> None:
        self.real, self.lie, self.seen, self.name = real, lie, set(), "flaky"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def put(self, bucket: str, key: str, data: bytes, md5: str) -> str:
        if ("put", key) not in self.seen:
            self.seen.add(("put", key))
            if not self.lie:
                raise Transient("the connection broke")
            self.real.put(bucket, key, data[:-1], "0" * 32)
            return "0" * 32
        return str(self.real.put(bucket, key, data, md5))

    def get(self, bucket: str, key: str, start: int, size: int) -> bytes:
        data: bytes = self.real.get(bucket, key, start, size)
        if ("get", key, start) not in self.seen:
            self.seen.add(("get", key, start))
            if not self.lie:
                raise Transient("the connection broke")
            return b"X" * size
        return data


@pytest.mark.parametrize("lie", [False, True], ids=["breaks", "lies"])
def test_attempts_send_everything_again(
    loopback: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: bool
) -> None:
    """A connection that breaks, and data that is damaged on its way."""
    monkeypatch.setattr(verify, "DELAYS", (0, 0))
    plain = FolderStore(loopback.root)
    plain.make_bucket("bucket-1")
    store = _Flaky(plain, lie=lie)
    _up(store, folder)
    real = plain.entries

    def with_sums(*arguments: Any) -> Any:
        for entry in real(*arguments):
            yield entry._replace(etag=plain.etag("bucket-1", entry.key))

    monkeypatch.setattr(plain, "entries", with_sums)
    _down(store, tmp_path / "back")
    assert _tree(tmp_path / "back") == _tree(folder)


def test_an_object_damaged_on_the_disk_is_detected(loopback: Any, folder: Path, tmp_path: Path, s3: Any) -> None:
    """Same length, same time, other bytes: the note still has the sum of what was sent."""
    from jumar.cloud.credentials import Credentials
    from jumar.cloud.store.obs import Endpoint
    from jumar.cloud.store.s3 import S3Store

    pair = Credentials("JUMARTESTACCESSKEY00", _secret(), f"127.0.0.1:{loopback.server.port}")
    store: Any = S3Store(Endpoint(loopback.endpoint, "local"), pair)
    store.make_bucket("bucket-1")
    _up(store, folder)
    path = loopback.root / "bucket-1" / "data" / "a.txt"
    about = path.stat()
    path.write_bytes(b"Z" * 1000)
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    back = tmp_path / "back"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify, "DELAYS", ())
        with pytest.raises(UserError, match="arrived damaged"):
            _down(store, back)
    store.close()
    assert not (back / "a.txt").exists()


def _secret() -> str:
    return "jumar/test+secret0123456789abcdefghijklmn"


def test_a_key_with_dots_cannot_leave_the_folder(loopback: Any, tmp_path: Path) -> None:
    store = FolderStore(loopback.root)
    store.make_bucket("bucket-1")
    store.put("bucket-1", "data/../../evil", b"x", "9dd4e461268c8034f5c8564e155c67a6")
    with pytest.raises(UserError, match="cannot be a file below"):
        _down(store, tmp_path / "back")
    assert not (tmp_path / "evil").exists()


def test_addresses() -> None:
    assert parse("obs://bucket-1/a/b") == Remote("obs", "bucket-1", "a/b")
    assert parse("S3://bucket-1") == Remote("s3", "bucket-1", "")
    assert parse(Path("x/y")) == Path("x/y")
    assert parse("C:\\data\\x") == Path("C:\\data\\x")
    for wrong, message in [("ob://b/x", "unknown kind"), ("obs:///x", "names no bucket"), ("obs://A/x", "not a bucket"),
                           ("obs://1.2.3.4/x", "not a bucket"), ("", "is empty")]:  # fmt: skip
        with pytest.raises(UserError, match=message):
            parse(wrong)
    with pytest.raises(UserError, match="is a path of this machine"):
        remote("data")


def test_a_file_that_changes_while_it_is_sent_is_not_reported_as_done(
    loopback: Any, tmp_path: Path, small_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = FolderStore(loopback.root)
    plain.make_bucket("bucket-1")
    source = tmp_path / "one" / "grows"
    source.parent.mkdir()
    source.write_bytes(os.urandom(2_500_000))

    class Slow(_Flaky):
        def part(self, *arguments: Any) -> str:
            os.utime(source, ns=(5, 5))
            return str(self.real.part(*arguments))

    with pytest.raises(UserError, match="changed while it was sent"):
        _up(Slow(plain), source.parent)
    assert plain.head("bucket-1", "data/grows") is None


def test_a_pattern_that_is_none_matches_nothing() -> None:
    from jumar.cloud import ignore

    patterns = ignore.compile_patterns(["[z-a]", "*.log"])
    assert [ignore.ignored(name, False, patterns) for name in ("z", "[z-a]", "a.log")] == [False, False, True]
