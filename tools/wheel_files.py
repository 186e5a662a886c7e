"""Takes some files out of a wheel on the package index without fetching the rest: wheels of torch are large."""

from __future__ import annotations

import functools
import io
import json
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path

_BLOCK = 4 << 20
_TAGS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014", "manylinux1", "linux")


def locate(requirement: str, machine: str, python: str) -> str:
    """The address of the wheel that pip would take for this machine and Python."""
    with tempfile.TemporaryDirectory() as place:
        words = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps"]
        words += ["--only-binary=:all:", "--use-feature=fast-deps", "--target", place, "--python-version", python]
        words += [word for tag in _TAGS for word in ("--platform", f"{tag}_{machine}")]
        done = subprocess.run([*words, "--report", "-", requirement], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"no wheel of `{requirement}` for {machine}: {done.stderr.strip().splitlines()[-1]}")
    return str(json.loads(done.stdout)["install"][0]["download_info"]["url"])


def extract(address: str, place: Path, wanted: Callable[[str], bool]) -> None:
    """Write the wanted members of the wheel at `address` under `place`."""
    local = urllib.parse.urlparse(address)
    file = urllib.request.url2pathname(local.path) if local.scheme == "file" else Remote(address)
    with zipfile.ZipFile(file) as wheel:
        for member in sorted(wheel.infolist(), key=lambda member: member.header_offset):
            if wanted(member.filename):
                wheel.extract(member, place)


class Remote(io.RawIOBase):
    """A file behind an address, read in blocks."""

    def __init__(self, address: str) -> None:
        self._address, self._at = address, 0
        with self._open("bytes=0-0") as answer:
            self._size = int(answer.headers["Content-Range"].rpartition("/")[2])
        self._block = functools.lru_cache(maxsize=4)(self._fetch)

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._size, self._at + size)
        parts = []
        while self._at < end:
            index, start = divmod(self._at, _BLOCK)
            part = self._block(index)[start : start + end - self._at]
            parts.append(part)
            self._at += len(part)
        return b"".join(parts)

    def _fetch(self, index: int) -> bytes:
        with self._open(f"bytes={index * _BLOCK}-{min(self._size, (index + 1) * _BLOCK) - 1}") as answer:
            return bytes(answer.read())

    def _open(self, span: str):  # type: ignore[no-untyped-def]
        return urllib.request.urlopen(urllib.request.Request(self._address, headers={"Range": span}), timeout=180)
