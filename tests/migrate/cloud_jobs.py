"""A pretend platform for adapted scripts: MoXing over a folder, MindSpore that only reads and writes files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from jumar.migrate import copied

MOXING = '''
"""Buckets are folders below $BUCKETS; every transfer is noted there."""
import os, shutil, time
from types import SimpleNamespace

def _local(url):
    return os.path.join(os.environ["BUCKETS"], url.split("://")[1]) if "://" in url else url

def copy_parallel(src_url, dst_url, **kwargs):
    with open(os.path.join(os.environ["BUCKETS"], "transfers"), "a") as log:
        log.write("{} {}\\n".format(src_url, dst_url))
    time.sleep(float(os.environ.get("SLOW", 0)))
    if os.environ.get("BROKEN"):
        raise OSError("the bucket is not there")
    source, target = _local(src_url), _local(dst_url)
    for top, _, names in os.walk(source):
        for name in names:
            new = os.path.join(target, os.path.relpath(os.path.join(top, name), source))
            os.makedirs(os.path.dirname(new), exist_ok=True)
            shutil.copyfile(os.path.join(top, name), new)

def copy(src_url, dst_url):
    shutil.copyfile(_local(src_url), _local(dst_url))

def is_directory(url):
    return os.path.isdir(_local(url))

def exists(url):
    return os.path.exists(_local(url))

file = SimpleNamespace(copy_parallel=copy_parallel, copy=copy, is_directory=is_directory, exists=exists)
'''
MINDSPORE = {
    "__init__.py": """
from types import SimpleNamespace
from mindspore import context, nn
from mindspore.train.callback import Model, ModelCheckpoint, CheckpointConfig
def save_checkpoint(net, name):
    open(name, "w").write("net")
def load_checkpoint(name):
    return open(name).read()
""",
    "context.py": """
GRAPH_MODE = 0
said = {}
class ParallelMode:
    DATA_PARALLEL = "data_parallel"
def set_context(**given):
    said.update(given)
def set_auto_parallel_context(**given):
    said.update(given)
""",
    "nn.py": "",
    "dataset.py": """
import os
class MnistDataset:
    def __init__(self, dataset_dir, num_shards=None, shard_id=None):
        self.names = sorted(os.listdir(dataset_dir))
        print("READS", os.path.realpath(dataset_dir), ",".join(self.names), num_shards, shard_id, flush=True)
""",
    "communication/__init__.py": "",
    "communication/management.py": "def init():\n    print('INIT', flush=True)\n",
    "train/__init__.py": "",
    "train/callback.py": """
import os
class CheckpointConfig:
    pass
class ModelCheckpoint:
    def __init__(self, prefix="CKP", directory=None, config=None):
        self.path = os.path.join(directory or os.getcwd(), prefix + ".ckpt")
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
class Model:
    def train(self, epochs, dataset, callbacks):
        from mindspore import context
        for one in callbacks:
            open(one.path, "w").write("weights")
        print("TRAINS", sorted(context.said.items()), flush=True)
""",
}


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
        packages = top / "packages"
        packages.mkdir()
        (packages / "moxing.py").write_text(MOXING)
        for name, body in MINDSPORE.items():
            path = packages / "mindspore" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body)

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
