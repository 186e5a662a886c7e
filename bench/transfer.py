"""Transfers against `cp`, plain boto3 and plain esdk: 500 files of 64 KiB and one of 200 MB, on the loopback store.

Every client talks to the same server process in the same run, the plain ones with 8 threads; the best of some rounds
counts. `jumar` verifies every object by MD5, the plain clients do not.
"""

from __future__ import annotations

import argparse
import filecmp
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jumar.cloud import sync
from jumar.cloud.address import Remote
from jumar.cloud.credentials import Credentials
from jumar.cloud.store.folder import FolderStore
from jumar.cloud.store.obs import Endpoint, ObsStore
from jumar.cloud.store.s3 import S3Store

KEYS = ("BENCHACCESSKEY000000", "bench-secret-0123456789")
SERVE = """
import sys, threading
from pathlib import Path
from jumar.cloud.disk import Disk
from jumar.cloud.standin.http import Server
from jumar.cloud.standin.obs_server import Store
server = Server(Store(Disk(Path(sys.argv[1])), {sys.argv[2]: sys.argv[3]})).start()
print(server.port, flush=True)
threading.Event().wait()
"""
MB = 1_000_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--big", type=int, default=200, help="MB")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="jumar-bench-") as name:
        top = Path(name)
        os.environ["XDG_CACHE_HOME"] = str(top / "cache")
        small, big = _make(top, given.files, given.big)
        (top / "store" / "bench").mkdir(parents=True)
        server = subprocess.Popen([sys.executable, "-c", SERVE, str(top / "store"), *KEYS], stdout=subprocess.PIPE)
        try:
            assert server.stdout is not None
            endpoint = f"http://127.0.0.1:{int(server.stdout.readline())}"
            _report(_measure(top, small, big, endpoint, given.rounds), given)
        finally:
            server.kill()
            server.wait()
    return 0


def _make(top: Path, files: int, big: int) -> tuple[Path, Path]:
    small, large = top / "small", top / "big"
    large.mkdir()
    for number in range(files):
        path = small / f"d{number % 10}" / f"f{number}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(64 << 10))
    with open(large / "big.bin", "wb") as file:
        for _ in range(big):
            file.write(os.urandom(MB))
    return small, large


def _measure(top: Path, small: Path, big: Path, endpoint: str, rounds: int) -> dict[str, list[float]]:
    makers: dict[str, Callable[[], tuple[Any, Any]]] = {
        "cp": lambda: (_cp, _cp_back),
        "jumar folder": lambda: _ours(FolderStore(top / "folder")),
        "boto3": lambda: _boto3(endpoint),
        "esdk": lambda: _esdk(endpoint),
        "jumar obs": lambda: _ours(ObsStore(Endpoint(endpoint, "local"), Credentials(*KEYS))),
        "jumar s3": lambda: _ours(S3Store(Endpoint(endpoint, "local"), Credentials(*KEYS))),
    }
    best: dict[str, list[float]] = {}
    for number in range(rounds):
        for name, make in makers.items():
            _as_installed()
            up, down = make()
            row = []
            for source in (small, big):
                mark = f"{name.replace(' ', '-')}-{number}-{source.name}"
                there, back = top / "there" / mark, top / "back" / mark
                row.append(_timed(up, source, mark, there))
                row.append(_timed(down, there, mark, back))
                assert not _differs(source, back), f"{name}: {source.name} came back different"
                shutil.rmtree(there, ignore_errors=True)
                shutil.rmtree(back)
                shutil.rmtree(top / "store" / "bench" / mark, ignore_errors=True)
                shutil.rmtree(top / "folder" / "bench" / mark, ignore_errors=True)
            best[name] = [min(pair) for pair in zip(best.get(name, row), row, strict=True)]
    return best


def _as_installed() -> None:
    """Peers run as they are: what our backend speeds up inside esdk is taken back."""
    crc = importlib.import_module("crcmod.crcmod")
    crc._mkTable_r = getattr(crc._mkTable_r, "__wrapped__", crc._mkTable_r)


def _timed(function: Callable[..., None], *arguments: Any) -> float:
    started = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - started


def _cp(source: Path, mark: str, there: Path) -> None:
    there.parent.mkdir(exist_ok=True)
    subprocess.run(["cp", "-r", source, there], check=True)


def _cp_back(there: Path, mark: str, back: Path) -> None:
    back.parent.mkdir(exist_ok=True)
    subprocess.run(["cp", "-r", there, back], check=True)


def _ours(store: Any) -> tuple[Any, Any]:
    if "bench" not in store.buckets():
        store.make_bucket("bench")

    def up(source: Path, mark: str, there: Path) -> None:
        sync.run(store, sync.plan_upload(store, source, Remote("obs", "bench", mark + "/")))

    def down(there: Path, mark: str, back: Path) -> None:
        sync.run(store, sync.plan_download(store, Remote("obs", "bench", mark + "/"), back))

    return up, down


def _boto3(endpoint: str) -> tuple[Any, Any]:
    import boto3
    from botocore.config import Config

    config = Config(request_checksum_calculation="when_required", response_checksum_validation="when_required",
                    s3={"addressing_style": "path"}, max_pool_connections=16)  # fmt: skip
    client = boto3.client("s3", endpoint_url=endpoint, aws_access_key_id=KEYS[0], aws_secret_access_key=KEYS[1],
                          region_name="local", config=config)  # fmt: skip

    def up(source: Path, mark: str, there: Path) -> None:
        _each(source, lambda path: client.upload_file(str(path), "bench", f"{mark}/{path.relative_to(source)}"))

    def down(there: Path, mark: str, back: Path) -> None:
        pages = client.get_paginator("list_objects_v2").paginate(Bucket="bench", Prefix=mark + "/")
        keys = [item["Key"] for page in pages for item in page["Contents"]]
        _fetch(keys, mark, back, lambda key, path: client.download_file("bench", key, path))

    return up, down


def _esdk(endpoint: str) -> tuple[Any, Any]:
    import obs

    client = obs.ObsClient(*KEYS, server=endpoint, region="local", long_conn_mode=True)

    def send(source: Path, mark: str, path: Path) -> None:
        key = f"{mark}/{path.relative_to(source)}"
        if path.stat().st_size > 16 << 20:
            done = client.uploadFile("bench", key, str(path), partSize=8 << 20, taskNum=8)
        else:
            done = client.putFile("bench", key, str(path))
        assert done.status < 300

    def take(key: str, path: str, size: int) -> None:
        if size > 16 << 20:
            done = client.downloadFile("bench", key, path, partSize=8 << 20, taskNum=8)
        else:
            done = client.getObject("bench", key, downloadPath=path)
        assert done.status < 300

    def up(source: Path, mark: str, there: Path) -> None:
        _each(source, lambda path: send(source, mark, path))

    def down(there: Path, mark: str, back: Path) -> None:
        found = client.listObjects("bench", prefix=mark + "/", max_keys=1000).body.contents
        sizes = {item.key: item.size for item in found}
        _fetch(list(sizes), mark, back, lambda key, path: take(key, path, sizes[key]))

    return up, down


def _each(source: Path, do: Callable[[Path], Any]) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(do, (path for path in source.rglob("*") if path.is_file())))


def _fetch(keys: list[str], mark: str, back: Path, do: Callable[[str, str], Any]) -> None:
    paths = [back / key.removeprefix(mark + "/") for key in keys]
    for folder in {path.parent for path in paths}:
        folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(do, keys, map(str, paths)))


def _differs(one: Path, other: Path) -> bool:
    names = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    there = sorted(path.relative_to(other) for path in other.rglob("*") if path.is_file())
    return names != there or any(not filecmp.cmp(one / name, other / name, shallow=False) for name in names)


def _report(best: dict[str, list[float]], given: Any) -> None:
    print(f"{'':14}{'up small':>12}{'down small':>12}{'up big':>12}{'down big':>12}")
    for name, row in best.items():
        rates = [given.files / row[0], given.files / row[1], given.big / row[2], given.big / row[3]]
        units = ("files/s", "files/s", "MB/s", "MB/s")
        print(
            f"{name:14}"
            + "".join(f"{rate:>7.0f} {unit}"[:12].rjust(12) for rate, unit in zip(rates, units, strict=True))
        )
    for ours, others in (("jumar folder", ("cp",)), ("jumar obs", ("boto3", "esdk"))):
        ratios = [min(best[other][at] for other in others) / best[ours][at] for at in range(4)]
        print(f"{ours} : best of {', '.join(others)}  " + "  ".join(f"{ratio:.2f}x" for ratio in ratios))
    ratios = [best["boto3"][at] / best["jumar obs"][at] for at in range(4)]
    print("jumar obs : boto3  " + "  ".join(f"{ratio:.2f}x" for ratio in ratios))


if __name__ == "__main__":
    sys.exit(main())
