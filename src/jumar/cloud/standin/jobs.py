"""The jobs of the stand-in, one folder each: the request and the outcome.

A job is run by a process of its own (`runner`), which writes the state here; so no server has to be running.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jumar.cloud import catalogue, contract, modelarts_v2
from jumar.cloud.job import Event, Fault, Job, JobSpec, LogEnd, Refused, State
from jumar.cloud.standin import refuse, watchdog
from jumar.cloud.standin.machine import PLAIN, Machine
from jumar.core import write
from jumar.core.compat import alone
from jumar.runtime import process as processes

PREVIEW = 5 << 20
STOPPED = 128 + signal.SIGTERM
"""Exit code of a job that was stopped."""

_RUN = "from jumar.cloud.standin.runner import main\nsys.exit(main())"


class Jobs:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.top = home / "jobs"

    def folder(self, id_: str) -> Path:
        if not re.fullmatch(r"[0-9a-f-]{36}", id_):
            raise Refused(Fault.NO_SUCH_JOB, f"no such job: {id_}")
        return self.top / id_

    def create(self, spec: JobSpec, machine: Machine = PLAIN) -> Job:
        """Check a request as the platform does, keep it, and start it."""
        refuse.check(spec)
        id_ = str(uuid.uuid4())
        folder = self.folder(id_)
        self.top.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(mode=0o700)
        (folder / "machine.json").write_text(json.dumps(machine), encoding="utf-8")
        self._save(
            Job(
                id=id_,
                spec=contract.local_folders(spec, catalogue.is_v1(spec.engine)),
                state=State.CREATING,
                created=_now(),
                devices=catalogue.flavors()[spec.flavor].devices,
                tasks=contract.tasks(spec),
            )
        )
        with open(folder / "runner.log", "wb") as log:
            # Another interpreter: the job must outlive the command that made it.
            process = processes.start(
                [sys.executable, *alone(_RUN), str(self.home), id_],
                stdout=log, stderr=processes.STDOUT,
            )  # fmt: skip
        (folder / "pid").write_text(str(process.pid), encoding="ascii")
        processes.leave(process)
        return self.get(id_)

    def machine(self, id_: str) -> Machine:
        return Machine(*json.loads((self.folder(id_) / "machine.json").read_text(encoding="utf-8")))

    def get(self, id_: str) -> Job:
        job = self._load(id_)
        if job.state.ended or self._alive(id_):
            return job
        again = self._load(id_)
        if again.state is State.TERMINATING:
            # `stop` can come before the runner listens: that ends the runner too.
            return again._replace(state=State.TERMINATED, exit_code=STOPPED)
        return again if again.state.ended else again._replace(state=State.ABNORMAL, lost=True)

    def all(self) -> list[Job]:
        """The newest first."""
        found = []
        for path in self.top.glob("*/job.json"):
            # Another process may delete a job meanwhile; files of older versions of Jumar tell nothing.
            with contextlib.suppress(Refused):
                found.append(self.get(path.parent.name))
        return sorted(found, key=lambda job: -job.created)

    def update(self, id_: str, state: State, *, code: int | None = None, lost: bool = False, warning: str = "") -> None:
        """Write a new state; called by the runner, and by `stop`."""
        with self._locked(id_):
            job, now = self._load(id_), _now()
            if job.state is State.TERMINATING and not state.ended:
                return
            events = [Event(now, text) for text in (f"the job is {state}", warning) if text]
            job = job._replace(state=state, lost=lost, warning=warning, events=(*job.events, *events))
            if state is State.RUNNING:
                job = job._replace(started=now)
            elif job.started:
                job = job._replace(duration=now - job.started)
            self._save(job if code is None else job._replace(exit_code=code))

    def stop(self, id_: str) -> Job:
        job = self.get(id_)
        if job.lost and not self._load(id_).state.ended:
            watchdog.end("=".join(contract.mark(id_)))
            self.update(id_, State.ABNORMAL, lost=True)
            return self.get(id_)
        if job.state.ended:
            raise Refused(Fault.WRONG_STATE, f"the job has ended already: {job.state}")
        self.update(id_, State.TERMINATING)
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            os.kill(self._pid(id_), signal.SIGTERM)
        return self.get(id_)

    def delete(self, id_: str) -> None:
        if not self.get(id_).state.ended:
            raise Refused(Fault.WRONG_STATE, "a running job cannot be deleted")
        gone = self.top / f"{id_}.gone"
        try:
            self.folder(id_).rename(gone)  # at once, so that of two who delete it one is told
        except FileNotFoundError:
            raise Refused(Fault.NO_SUCH_JOB, f"no such job: {id_}") from None
        shutil.rmtree(gone, ignore_errors=True)

    def log(self, id_: str, task: str) -> LogEnd:
        """What is shown of a node's log."""
        data = self.whole_log(id_, task)
        return LogEnd(data[-PREVIEW:].decode(errors="replace"), len(data))

    def whole_log(self, id_: str, task: str) -> bytes:
        if task not in self.get(id_).tasks:
            raise Refused(Fault.NO_SUCH_TASK, f"no such task: {task}")
        found = next((self.folder(id_) / "log").glob(f"*-{task}.log"), None)
        return found.read_bytes() if found else b""

    def _load(self, id_: str) -> Job:
        try:
            data = json.loads((self.folder(id_) / "job.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise Refused(Fault.NO_SUCH_JOB, f"no such job: {id_}") from None
        if "spec" not in data:
            raise Refused(Fault.NO_SUCH_JOB, f"an older version of Jumar wrote the job {id_}")
        return _decode(data)

    def _save(self, job: Job) -> None:
        write.replace(self.folder(job.id) / "job.json", json.dumps(_encode(job)).encode())

    @contextlib.contextmanager
    def _locked(self, id_: str) -> Iterator[None]:
        with open(self.folder(id_) / "lock", "w", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _pid(self, id_: str) -> int:
        return int((self.folder(id_) / "pid").read_text(encoding="ascii"))

    def _alive(self, id_: str) -> bool:
        try:
            pid = self._pid(id_)
            os.kill(pid, 0)
            # While a process is being started its command line is empty; a dead one that nobody waited for has none.
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            ended = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
            return not ended and (not words or id_.encode() in words)
        except ProcessLookupError:
            return False
        except OSError:
            # The process is being started, or the system has no /proc.
            return not (self.folder(id_) / "pid").exists()


def _encode(job: Job) -> dict[str, Any]:
    """A job for its file."""
    return {**job._asdict(), "spec": modelarts_v2.encode_spec(job.spec)}


def _decode(data: dict[str, Any]) -> Job:
    return Job(**{
        **data,
        "spec": modelarts_v2.decode_spec(data["spec"]),
        "state": State(data["state"]),
        "tasks": tuple(data["tasks"]),
        "events": tuple(Event(*row) for row in data["events"]),
    })  # fmt: skip


def _now() -> int:
    return int(time.time() * 1000)
