"""Runs one job of the stand-in as the platform does; started as a process of its own, so that a job outlives its maker.

One process per device, each in its own folder, with the platform's variables and log names; the first failure ends all
of them (davincirun's order: SIGTERM, then SIGKILL). Outputs and logs go to the store while the job runs and at its end.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from jumar.cloud import contract, sync
from jumar.cloud.address import Remote
from jumar.cloud.standin import enter, interpreter
from jumar.cloud.standin.jobs import Jobs, Record
from jumar.cloud.store.folder import FolderStore
from jumar.core.errors import UserError

PERIOD = 30.0
"""Seconds between uploads of outputs, as on the platform."""
GRACE = 15.0
STEP = 0.1
_LITERALS = re.compile(r"(?<![\w./-])(/cache|/home/ma-user|/home/work|/user/config)(?=[/'\"\s,)\]}]|$)", re.M)
_TEXTS = (".py", ".yaml", ".yml", ".json", ".sh", ".txt", ".cfg", ".ini", ".toml")


class Stopped(Exception):
    """Somebody asked for the end of the job."""


class Runner:
    def __init__(self, jobs: Jobs, record: Record) -> None:
        self.jobs, self.record = jobs, record
        self.job = record.contract()
        self.store = FolderStore(jobs.home / "store")
        self.top = jobs.folder(record.id)
        self.root = self.top / "root"
        self.private = {path: str(self.root / path.lstrip("/")) for path in contract.PRIVATE}
        self.log = self.top / "log" / f"{self.job.instance}.log"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.isolated = False
        self.python = record.python or sys.executable
        self.packages = self.top / "packages"
        self.read: dict[Path, int] = {}
        """How far each process's log has been merged."""

    def run(self) -> int:
        """Everything from the first download to the last upload; the exit code is that of the first failure."""
        signal.signal(signal.SIGTERM, self._stop)
        code = 1
        try:
            self.jobs.update(self.record.id, "Pending", "Pending")
            self._stage_in()
            self.jobs.update(self.record.id, "Running", "Running")
            self._start()
            code = self._watch()
            phase = "Completed" if code == 0 else "Failed"
        except Stopped:
            phase, code = "Terminated", 143
        except (UserError, OSError) as error:
            self._say(f"{error}")
            phase = "Failed"
        finally:
            self._end_all()
            self._merge(rest=True)
        try:
            self._stage_out()
        except (UserError, OSError) as error:
            self._say(f"cannot upload the outputs: {error}")
            phase, code = ("Failed", code or 1) if phase == "Completed" else (phase, code)
        self._say(f"the job ended: {phase}, exit code {code}")
        with contextlib.suppress(UserError, OSError):
            self._upload_logs()
        self.jobs.update(self.record.id, phase, phase, code=code)
        return code

    def _stop(self, *_: object) -> None:
        raise Stopped

    def _stage_in(self) -> None:
        for path in self.private.values():
            os.makedirs(path, exist_ok=True)
        (self.top / "new-root").mkdir(exist_ok=True)
        self.log.parent.mkdir(exist_ok=True)
        layout = self.job.layout
        code = self.record.body["algorithm"]["code_dir"]
        self._say(f"download code from {code}")
        self._fetch(code, f"{layout.jobs}/{self.job.code}")
        if not self.job.v1:
            for number, channel in enumerate(self.job.inputs):
                self._say(f"download {channel.name} from {channel.address}")
                self._fetch(channel.address, layout.input(channel.name, number))
            for number, channel in enumerate(self.job.outputs):
                os.makedirs(self._here(layout.output(channel.name, number)), exist_ok=True)
        os.makedirs(self._here(layout.log), exist_ok=True)
        table = contract.platform_table(self.job)
        self._write(f"{contract.CONFIG}/jobstart_hccl.json", table)
        self._write(layout.rank_table, contract.rank_table(table))
        self._install(Path(self._here(layout.jobs)) / self.job.code / interpreter.REQUIREMENTS)
        self.isolated = self._can_isolate()
        if not self.isolated:
            self._say("private folders are not allowed on this system: paths in the copied code are rewritten")
            self._rewrite(Path(self._here(layout.jobs)))

    def _fetch(self, address: str, target: str) -> None:
        bucket, _, key = address.strip("/").partition("/")
        place = Remote("obs", bucket, f"{key}/" if key else "")
        here = Path(self._here(target))
        there = self.store.head(bucket, key) if key and not address.endswith("/") else None
        if there is not None:
            here.mkdir(parents=True, exist_ok=True)
            sync.fetch_one(self.store, place._replace(key=key), here / key.rpartition("/")[2])
            return
        sync.run(self.store, sync.plan_download(self.store, place, here))

    def _install(self, requirements: Path) -> None:
        """What the code folder asks for and the interpreter has not, for this job only."""
        if requirements.is_file():
            found = interpreter.install(self.python, requirements, self.packages)
            self._say(f"{interpreter.REQUIREMENTS}: installed {', '.join(found) or 'nothing, all of it is there'}")

    def _can_isolate(self) -> bool:
        if os.environ.get("JUMAR_CLOUD_ISOLATE") == "0" or not sys.platform.startswith("linux"):
            return False
        spec = self._spec("/", "probe")
        done = subprocess.run(
            [sys.executable, "-I", "-S", enter.__file__, spec, "--"], capture_output=True, check=False
        )
        return done.returncode == 0

    def _spec(self, folder: str, name: str) -> str:
        path = self.top / f"enter-{name}.json"
        isolate = self.isolated or name == "probe"
        value = {"root": str(self.top / "new-root"), "folder": folder, "private": self.private if isolate else {}}
        path.write_text(json.dumps(value), encoding="utf-8")
        return str(path)

    def _rewrite(self, folder: Path) -> None:
        for path in folder.rglob("*"):
            if path.is_file() and path.suffix in _TEXTS:
                raw = path.read_bytes()
                with contextlib.suppress(UnicodeDecodeError):
                    new = _LITERALS.sub(lambda match: self.private[match[1]], raw.decode()).encode()
                    if new != raw:
                        path.write_bytes(new)

    def _start(self) -> None:
        job, layout = self.job, self.job.layout
        boot = f"{layout.jobs}/{job.code}/{job.boot}"
        together = job.environments.get("MA_RUN_METHOD", "")
        words = [*self._launcher(together), boot, *contract.arguments(job)]
        common = {**self.record.extra, **self._meeting(), **contract.node_variables(job), **job.environments}
        for device in [0] if together else range(job.devices):
            folder = layout.workspace(device)
            os.makedirs(self._here(folder), exist_ok=True)
            variables = common if together else {**common, **contract.device_variables(job, device)}
            os.makedirs(self._here(f"{layout.log}/{job.id}/ascend/process_log/rank_{device}"), exist_ok=True)
            log = self.top / "log" / contract.rank_log(job, device, device)
            self.processes.append(self._process(words, variables, folder, log, f"rank-{device}"))

    def _launcher(self, together: str) -> list[str]:
        count = str(self.job.devices)
        if together == "torchrun":
            return [self.python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", count]
        if together == "msrun":
            beside = Path(self.python).parent / "msrun"
            return [str(beside) if beside.exists() else "msrun", "--worker_num", count, "--local_worker_num", count,
                    "--join", "True", "--master_port", str(_free_port()), "--log_dir", self.job.layout.log]  # fmt: skip
        if together:
            raise UserError(f"MA_RUN_METHOD={together} is not known", "leave it out, or `torchrun` or `msrun`")
        return [self.python, "-u"]

    def _meeting(self) -> dict[str, str]:
        """Where the processes of a MindSpore job meet that runs on the CPU: `ms/sitecustomize.py` reads it."""
        if self.job.devices == 1 or interpreter.TARGET not in self.record.extra:
            return {}
        folder = f"{self.job.layout.mount}/.meet"
        os.makedirs(self._here(folder), exist_ok=True)
        return {interpreter.PORT: str(_free_port()), interpreter.MEET: folder}

    def _process(
        self, words: list[str], variables: dict[str, str], folder: str, log: Path, name: str
    ) -> subprocess.Popen[bytes]:
        shown = words if self.isolated else [self._rewritten(word) for word in words]
        values = variables if self.isolated else {key: self._rewritten(text) for key, text in variables.items()}
        spec = self._spec(folder if self.isolated else self._here(folder), name)
        environment = {**_own_environment(), **values}
        # What the user put there comes first.
        own = interpreter.search_path(self.top / "path", self.packages)
        environment["PYTHONPATH"] = ":".join([path for path in (environment.get("PYTHONPATH"),) if path] + own)
        environment["PATH"] = f"{Path(self.python).parent}:{environment.get('PATH', os.defpath)}"
        environment["JUMAR_CLOUD_HOME"] = str(self.jobs.home)
        with open(log, "ab", buffering=0) as out:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", enter.__file__, spec, "--", *shown], env=environment,
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def _watch(self) -> int:
        """Wait for all processes, or for the first that fails; send outputs now and then, and keep to `auto_stop`."""
        sent = time.monotonic()
        end = sent + self.record.auto_stop_seconds()
        while True:
            codes = [process.poll() for process in self.processes]
            self._merge()
            failed = [(rank, code) for rank, code in enumerate(codes) if code]
            if failed:
                rank, code = failed[0]
                self._say(f"rank {rank} ended with exit code {code}; the others are ended")
                return code if code > 0 else 128 - code
            if all(code == 0 for code in codes):
                return 0
            now = time.monotonic()
            if now > end:
                self._say("auto_stop: the time of the job is over")
                raise Stopped
            if now - sent > PERIOD:
                sent = now
                with contextlib.suppress(UserError, OSError):
                    self._stage_out()
                    self._upload_logs()
            time.sleep(STEP)

    def _merge(self, *, rest: bool = False) -> None:
        """Whole lines of all processes, in the order they come, into the node's log."""
        for rank, path in enumerate(sorted(self.log.parent.glob("*-proc-rank-*"), key=_rank)):
            with open(path, "rb") as file:
                file.seek(self.read.get(path, 0))
                text = file.read()
            end = len(text) if rest else text.rfind(b"\n") + 1
            if not end:
                continue
            self.read[path] = self.read.get(path, 0) + end
            mark = f"[rank {rank}] ".encode() if len(self.processes) > 1 else b""
            with open(self.log, "ab") as out:
                out.write(b"".join(mark + line for line in text[:end].splitlines(keepends=True)))

    def _end_all(self) -> None:
        running = [process for process in self.processes if process.poll() is None]
        for kind in (signal.SIGTERM, signal.SIGKILL):
            for process in running:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, kind)
            end = time.monotonic() + GRACE
            while time.monotonic() < end and any(process.poll() is None for process in running):
                time.sleep(STEP / 2)
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _stage_out(self) -> None:
        if self.job.v1:
            return
        for number, channel in enumerate(self.job.outputs):
            folder = Path(self._here(self.job.layout.output(channel.name, number)))
            if folder.is_dir():
                self._send(folder, channel.address)

    def _upload_logs(self) -> None:
        address = ((self.record.body.get("spec") or {}).get("log_export_path") or {}).get("obs_url")
        if address:
            self._send(self.log.parent, address)

    def _send(self, folder: Path, address: str) -> None:
        bucket, _, key = address.strip("/").partition("/")
        place = Remote("obs", bucket, f"{key}/" if key else "")
        sync.run(self.store, sync.plan_upload(self.store, folder, place))

    def _say(self, text: str) -> None:
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


def _rank(path: Path) -> int:
    return int(path.name.rpartition("-rank-")[2].partition("-")[0])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _own_environment() -> dict[str, str]:
    """What a job inherits: nothing that could hold a key of the cloud."""
    words = ("SECRET", "ACCESS_KEY", "TOKEN", "PASSWORD", "CREDENTIAL", "_SK", "_AK")
    return {name: value for name, value in os.environ.items() if not any(word in name.upper() for word in words)}


def main() -> int:
    jobs = Jobs(Path(sys.argv[1]))
    runner = Runner(jobs, jobs.get(sys.argv[2]))
    try:
        return runner.run()
    finally:
        shutil.rmtree(runner.top / "new-root", ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
