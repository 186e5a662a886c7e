"""One node of a job of the stand-in: its folders, what is copied into and out of them, and its processes.

One process per device, each in its own folder, with the platform's variables and log names, as davincirun starts them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumar.cloud import contract, sync
from jumar.cloud.address import Remote, platform_form
from jumar.cloud.standin import enter, interpreter
from jumar.cloud.standin.machine import Machine
from jumar.cloud.store.folder import FolderStore
from jumar.core.compat import alone
from jumar.runtime import process as processes
from jumar.runtime import variables as rows

_LITERALS = re.compile(r"(?<![\w./-])(/cache|/home/ma-user|/home/work|/user/config)(?=[/'\"\s,)\]}]|$)", re.M)
_CACHES = ("__pycache__", "kernel_meta")
_TEXTS = (".py", ".yaml", ".yml", ".json", ".sh", ".txt", ".cfg", ".ini", ".toml")


class Node:
    def __init__(self, home: Path, top: Path, machine: Machine, job: contract.NodeJob) -> None:
        self.home, self.top, self.machine, self.job = home, top, machine, job
        self.store = FolderStore(home / "store")
        self.own = top / (f"node-{job.node}" if job.node else ".")
        self.root = self.own / "root"
        self.private = {path: str(self.root / path.lstrip("/")) for path in contract.PRIVATE}
        self.logs = top / "log"
        self.log = self.logs / f"{job.instance}.log"
        self.processes: list[processes.Process] = []
        self.helpers: list[processes.Process] = []
        """Processes that are not the user's."""
        self.isolated = False
        self.python = machine.python or sys.executable
        self.packages = self.own / "packages"
        self.read: dict[str, int] = {}
        """How far each process's log has been merged."""
        self.began = 0
        """When the processes were started, in nanoseconds."""

    def stage_in(self) -> None:
        for path in self.private.values():
            os.makedirs(path, exist_ok=True)
        (self.own / "new-root").mkdir(exist_ok=True)
        self.logs.mkdir(exist_ok=True)
        layout = self.job.layout
        spec = self.job.spec
        assert spec.code is not None
        self.say(f"download code from {platform_form(spec.code)}")
        self._fetch(spec.code, f"{layout.jobs}/{self.job.code}")
        if not self.job.v1:
            for channel in spec.inputs:
                self.say(f"download {channel.name} from {platform_form(channel.place)}")
                self._fetch(channel.place, channel.local)
            for channel in spec.outputs:
                os.makedirs(self._here(channel.local), exist_ok=True)
        os.makedirs(self._here(layout.log), exist_ok=True)
        table = contract.platform_table(self.job)
        self._write(f"{contract.CONFIG}/jobstart_hccl.json", table)
        self._write(layout.rank_table, contract.rank_table(table))
        self._install(Path(self._here(layout.jobs)) / self.job.code / interpreter.REQUIREMENTS)
        self.isolated = self._can_isolate()
        if not self.isolated:
            self.say("private folders are not allowed on this system: paths in the copied code are rewritten")
            self._rewrite(Path(self._here(layout.jobs)))

    def _fetch(self, place: Remote, target: str) -> None:
        """A folder of the store, or one object into a folder."""
        here = Path(self._here(target))
        is_object = place.key and not place.key.endswith("/") and self.store.head(place.bucket, place.key) is not None
        if is_object:
            here.mkdir(parents=True, exist_ok=True)
            sync.fetch_one(self.store, place, here / place.key.rpartition("/")[2])
            return
        sync.run(self.store, sync.plan_download(self.store, place, here))

    def _install(self, requirements: Path) -> None:
        """What the code folder asks for and the interpreter has not, for this job only."""
        if requirements.is_file():
            found = interpreter.install(self.python, requirements, self.packages)
            self.say(f"{interpreter.REQUIREMENTS}: installed {', '.join(found) or 'nothing, all installed'}")

    def _can_isolate(self) -> bool:
        if not rows.CLOUD_ISOLATE.read() or not sys.platform.startswith("linux"):
            return False
        spec = self._spec("/", "probe")
        return processes.run([sys.executable, "-I", "-S", enter.__file__, spec, "--"]).code == 0

    def _spec(self, folder: str, name: str) -> str:
        path = self.own / f"enter-{name}.json"
        isolate = self.isolated or name == "probe"
        value = {
            "root": str(self.own / "new-root"),
            "folder": folder,
            "private": self.private if isolate else {},
            "hosts": str(self._hosts()) if isolate else "",
        }
        path.write_text(json.dumps(value), encoding="utf-8")
        return str(path)

    def _hosts(self) -> Path:
        """The names of the nodes, in the file in which a process looks for them."""
        path = self.own / "hosts"
        real = Path("/etc/hosts")
        known = real.read_text(encoding="utf-8", errors="replace") if real.is_file() else ""
        lines = [f"{contract.address(node)} {name}" for node, name in enumerate(self.job.hosts())]
        path.write_text("\n".join([known.rstrip(), *lines, ""]), encoding="utf-8")
        return path

    def _rewrite(self, folder: Path) -> None:
        for path in folder.rglob("*"):
            if path.is_file() and path.suffix in _TEXTS:
                raw = path.read_bytes()
                with contextlib.suppress(UnicodeDecodeError):
                    new = _LITERALS.sub(lambda match: self.private[match[1]], raw.decode()).encode()
                    if new != raw:
                        path.write_bytes(new)

    def start(self, shared: Mapping[str, str], launcher: list[str], *, together: bool) -> None:
        """Start the processes; with `together` only one, which starts the others itself."""
        job, layout = self.job, self.job.layout
        self.began = time.time_ns()
        words = [*launcher, f"{layout.jobs}/{job.code}/{job.spec.boot}", *contract.arguments(job)]
        common = {**self.machine.variables, **shared, **contract.node_variables(job), **dict(job.spec.environment)}
        if not self.isolated:
            common["VC_WORKER_HOSTS"] = ",".join(contract.address(node) for node in range(job.spec.nodes))
        for device in [0] if together else range(job.devices):
            folder, rank = layout.workspace(device), job.rank(device)
            os.makedirs(self._here(folder), exist_ok=True)
            variables = common if together else {**common, **contract.device_variables(job, device)}
            if "MS_ROLE" in shared:
                variables = {**variables, "MS_NODE_ID": str(rank)}
            os.makedirs(self._here(f"{layout.log}/{job.id}/ascend/process_log/rank_{rank}"), exist_ok=True)
            log = self.logs / contract.rank_log(job, device)
            self.processes.append(self._process(words, variables, folder, log, f"rank-{rank}"))

    def start_scheduler(self, shared: Mapping[str, str]) -> None:
        """MindSpore's scheduler, at which the processes of a job meet; it ends with them."""
        words = [self.python, *alone(interpreter.SCHEDULER)]
        variables = {**self.machine.variables, **shared, "MS_ROLE": "MS_SCHED"}
        log = self.top / "scheduler.log"
        self.helpers.append(self._process(words, variables, self.job.layout.jobs, log, "scheduler"))

    def _process(
        self, words: list[str], variables: dict[str, str], folder: str, log: Path, name: str
    ) -> processes.Process:
        shown = words if self.isolated else [self._rewritten(word) for word in words]
        values = variables if self.isolated else {key: self._rewritten(text) for key, text in variables.items()}
        spec = self._spec(folder if self.isolated else self._here(folder), name)
        environment = {**_own_environment(), **values}
        # What the user put there comes first.
        own = interpreter.search_path(self.own / "path", self.packages)
        environment["PYTHONPATH"] = ":".join([path for path in (environment.get("PYTHONPATH"),) if path] + own)
        environment["PATH"] = f"{Path(self.python).parent}:{environment.get('PATH', os.defpath)}"
        environment[rows.CLOUD_HOME.name] = str(self.home)
        environment.update([contract.mark(self.job.id)])
        with open(log, "ab", buffering=0) as out:
            return processes.start(
                [sys.executable, "-I", "-S", enter.__file__, spec, "--", *shown], env=environment,
                stdout=out, stderr=processes.STDOUT,
            )  # fmt: skip

    def merge(self, *, rest: bool = False) -> None:
        """Whole lines of all processes, in the order they come, into the node's log."""
        for device in range(self.job.devices):
            name = contract.rank_log(self.job, device)
            if not (self.logs / name).is_file():
                continue
            with open(self.logs / name, "rb") as file:
                file.seek(self.read.get(name, 0))
                text = file.read()
            end = len(text) if rest else text.rfind(b"\n") + 1
            if not end:
                continue
            self.read[name] = self.read.get(name, 0) + end
            many = len(self.processes) > 1 or self.job.spec.nodes > 1
            mark = f"[rank {self.job.rank(device)}] ".encode() if many else b""
            with open(self.log, "ab") as out:
                out.write(b"".join(mark + line for line in text[:end].splitlines(keepends=True)))

    def stage_out(self) -> None:
        if self.job.v1:
            return
        for channel in self.job.spec.outputs:
            folder = Path(self._here(channel.local))
            if folder.is_dir():
                self.send(folder, channel.place)

    def send(self, folder: Path, place: Remote) -> None:
        sync.run(self.store, sync.plan_upload(self.store, folder, place))

    def has_uploaded(self) -> bool:
        """Whether any output has got a file since the processes started."""
        for channel in self.job.spec.outputs:
            if not self.job.v1:
                if any(path.is_file() for path in Path(self._here(channel.local)).rglob("*")):
                    return True
            elif any(one.mtime_ns >= self.began for one in self.store.entries(channel.place.bucket, channel.place.key)):
                return True
        return False

    def written(self) -> list[str]:
        """Files of the job that are newer than its start, by their names in the container; no caches of compilers."""
        own = [self._here(self.job.layout.log), *(self._here(one.local) for one in self.job.spec.inputs)]
        found = []
        for folder, names, files in os.walk(self.root):
            names[:] = [name for name in sorted(names) if name not in _CACHES and f"{folder}/{name}" not in own]
            paths = (f"{folder}/{name}" for name in sorted(files))
            found += [path for path in paths if os.lstat(path).st_mtime_ns >= self.began]
        return [path.removeprefix(str(self.root)) for path in found]

    def say(self, text: str) -> None:
        moment = time.strftime("%Y-%m-%d %H:%M:%S")
        with open(self.log, "a", encoding="utf-8") as file:
            file.write(f"{contract.SERVICE_LINE} {moment} {text}\n")

    def _write(self, path: str, value: Any) -> None:
        here = Path(self._here(path))
        here.parent.mkdir(parents=True, exist_ok=True)
        here.write_text(json.dumps(value), encoding="utf-8")

    def _here(self, path: str) -> str:
        """Where a folder of the job is on this machine."""
        return str(self.root / path.lstrip("/"))

    def _rewritten(self, text: str) -> str:
        return re.sub(r"(?<![\w.-])(/cache|/home/ma-user|/home/work|/user/config)(?=/|$|\")",
                      lambda match: self.private[match[1]], text)  # fmt: skip


def _own_environment() -> dict[str, str]:
    """What a job inherits: nothing that could hold a key of the cloud."""
    words = ("SECRET", "ACCESS_KEY", "TOKEN", "PASSWORD", "CREDENTIAL", "_SK", "_AK")
    return {name: value for name, value in os.environ.items() if not any(word in name.upper() for word in words)}
