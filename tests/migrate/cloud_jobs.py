"""A pretend platform for adapted scripts: MoXing over a folder, MindSpore that only reads and writes files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from jumar.migrate import copied

PACKAGES = Path(__file__).parent / "programs" / "platform_packages"


class Platform:
    """A folder with buckets, packages and a script, and ways to start it."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.buckets = top / "buckets"
        self.code = top / "code"
        data = self.buckets / "b" / "mnist"
        (data / "train").mkdir(parents=True)
        (data / "train" / "images").write_text("x")
        (data / "one.ckpt").write_text("state")
        self.code.mkdir()
        (self.code / "jumar_cloud.py").write_bytes(copied.text("jumar_cloud"))
        shutil.copytree(PACKAGES, top / "packages")

    def start(self, script: str, *args: str, rank: int = 0, size: int = 1, **env: str) -> subprocess.Popen[str]:
        """One process of a job, in a working folder of its own, as the platform starts it."""
        work = self.top / f"device{rank}"
        work.mkdir(exist_ok=True)
        given = {"PATH": os.environ["PATH"], "PYTHONPATH": str(self.top / "packages"), "BUCKETS": str(self.buckets)}
        given |= {"CACHE_DIR": str(self.top / "cache"), "JUMAR_CLOUD_PAUSE": "0.01", "PYTHONDONTWRITEBYTECODE": "1"}
        if size > 1 or "RANK_SIZE" in env:
            given |= {"RANK_SIZE": str(size), "RANK_ID": str(rank), "DEVICE_ID": str(rank)}
        return subprocess.Popen(
            [sys.executable, "-S", str(self.code / script), *args],
            cwd=work,
            env=given | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, script: str, *args: str, size: int = 1, **env: str) -> list[tuple[int, str, str]]:
        """A whole job: exit code, stdout and stderr of each process."""
        started = [self.start(script, *args, rank=rank, size=size, **env) for rank in range(size)]
        found = []
        for process in started:
            out, err = process.communicate(timeout=60)
            found.append((process.returncode, out, err))
        return found

    def transfers(self) -> list[str]:
        log = self.buckets / "transfers"
        return log.read_text().splitlines() if log.exists() else []

    def bucket(self) -> list[str]:
        """What lies in the bucket of the results."""
        top = self.buckets / "b" / "out"
        return sorted(path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file())
