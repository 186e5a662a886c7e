"""Client or server killed in the middle: a second run ends with the same bytes, and sends only the rest."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from program_files import program_text

ACCESS, SECRET = "JUMARTESTACCESSKEY00", "kill-test-secret"
pytest.importorskip("obs", reason="esdk-obs-python is the official client of OBS")

KEYS = "JUMARTESTACCESSKEY00 jumar/test+secret0123456789abcdefghijklmn"
CLIENT = program_text(__file__, "killed_client")
SERVER = program_text(__file__, "storage_server")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "large").write_bytes(os.urandom(8 << 20))
    return folder


def _client(what: str, endpoint: str, folder: Path, limit: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CLIENT, what, endpoint, str(folder), str(limit)],
        env={**os.environ, "TEST_KEYS": KEYS}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_a_killed_upload_goes_on_where_it_was(loopback: Any, source: Path) -> None:
    loopback.disk.make_bucket("bucket-1")
    assert _client("up", loopback.endpoint, source, 4).returncode == -signal.SIGKILL
    assert loopback.disk.find("bucket-1", "data/large") is None
    again = _client("up", loopback.endpoint, source, 100)
    assert again.returncode == 0, again.stderr
    assert int(again.stdout) < 8
    assert (loopback.root / "bucket-1" / "data" / "large").read_bytes() == (source / "large").read_bytes()


def test_a_killed_download_goes_on_where_it_was(loopback: Any, source: Path, tmp_path: Path) -> None:
    loopback.disk.make_bucket("bucket-1")
    assert _client("up", loopback.endpoint, source, 100).returncode == 0
    back = tmp_path / "back"
    assert _client("down", loopback.endpoint, back, 4).returncode == -signal.SIGKILL
    assert not (back / "large").exists()
    again = _client("down", loopback.endpoint, back, 100)
    assert again.returncode == 0, again.stderr
    assert int(again.stdout) < 8
    assert (back / "large").read_bytes() == (source / "large").read_bytes()
    assert [path.name for path in back.iterdir()] == ["large"]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Any]:
    started: list[subprocess.Popen[str]] = []

    def start(port: int = 0) -> tuple[subprocess.Popen[str], int]:
        (tmp_path / "served").mkdir(exist_ok=True)
        command = [sys.executable, "-c", SERVER, str(tmp_path / "served"), ACCESS, SECRET, str(port)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        return process, int(process.stdout.readline())

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_a_killed_server_keeps_what_it_acknowledged(serve: Any, tmp_path: Path) -> None:
    from jumar.cloud.credentials import Credentials
    from jumar.cloud.store import Piece
    from jumar.cloud.store.obs import Endpoint, ObsStore

    process, port = serve()
    store = ObsStore(Endpoint(f"http://127.0.0.1:{port}", "local"), Credentials(ACCESS, SECRET, f"127.0.0.1:{port}"))
    store.make_bucket("bucket-1")
    data = {f"k{number}": os.urandom(5000) for number in range(20)}
    import hashlib

    for key, value in data.items():
        store.put("bucket-1", key, value, hashlib.md5(value).hexdigest())
    upload = store.begin("bucket-1", "parts")
    source = tmp_path / "part"
    source.write_bytes(os.urandom(200_000))
    etag = store.part("bucket-1", "parts", upload, 1, Piece(str(source), 0, 200_000))
    assert etag == hashlib.md5(source.read_bytes()).hexdigest()
    (tmp_path / "served" / ".jumar" / "tmp" / "1999999999-1-1").write_bytes(b"half")
    store.close()
    process.send_signal(signal.SIGKILL)
    process.wait()
    _, port = serve()
    store = ObsStore(Endpoint(f"http://127.0.0.1:{port}", "local"), Credentials(ACCESS, SECRET, f"127.0.0.1:{port}"))
    found = {entry.key: entry for entry in store.entries("bucket-1")}
    assert sorted(found) == sorted(data)
    for key, value in data.items():
        assert found[key].etag == hashlib.md5(value).hexdigest()
        assert store.get("bucket-1", key, 0, len(value)) == value
    parts = store.parts("bucket-1", "parts", upload)
    assert parts is not None
    assert [one.etag for one in parts] == [etag]
    store.close()
    assert not list((tmp_path / "served" / ".jumar" / "tmp").iterdir())
