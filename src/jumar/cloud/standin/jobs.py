"""The jobs of the stand-in, one folder each: what was asked for, and what became of it.

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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jumar.cloud import contract
from jumar.core import write
from jumar.core.errors import UserError
from jumar.runtime import process as processes
from jumar.tables.load import table

ENDED = ("Completed", "Failed", "Terminated", "Abnormal")


class Rejected(Exception):
    """A request that the platform would refuse, with its code."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status


class Record(NamedTuple):
    id: str
    body: Mapping[str, Any]
    status: Mapping[str, Any]
    made: int
    """Milliseconds."""
    extra: Mapping[str, str]
    """Variables of the emulated devices."""
    python: str = ""
    """Interpreter of the job; Jumar's own if it is empty."""

    def contract(self) -> contract.Job:
        flavor = flavors()[self.body["spec"]["resource"]["flavor_id"]]
        engine = (self.body["algorithm"].get("engine") or {}).get("engine_version", "")
        v1 = any(row["version"] == engine and row["v1_compatible"] for row in engines())
        return contract.read(self.id, self.body, int(flavor["devices"]), v1)

    def auto_stop_seconds(self) -> float:
        asked = (self.body.get("spec") or {}).get("auto_stop") or {}
        hours = float(asked.get("duration") or 24 * 365)
        return hours * (3600.0 if asked.get("time_unit", "HOURS") == "HOURS" else 60.0)


def flavors() -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in table("modelarts.toml")["flavors"]}


def engines() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table("modelarts.toml")["engines"]
    return found


class Jobs:
    def __init__(self, home: Path, extra: Mapping[str, str] | None = None, python: str = "") -> None:
        self.home = home
        self.extra = dict(extra or {})
        self.python = python
        self.top = home / "jobs"

    def folder(self, id_: str) -> Path:
        if not re.fullmatch(r"[0-9a-f-]{36}", id_):
            raise Rejected("Jumar.NoSuchJob", f"no such job: {id_}", 404)
        return self.top / id_

    def create(self, body: Mapping[str, Any]) -> Record:
        """Check a request as the platform does, keep it, and start it."""
        check(body)
        id_ = str(uuid.uuid4())
        folder = self.folder(id_)
        self.top.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(mode=0o700)
        record = Record(id_, body, {}, int(time.time() * 1000), self.extra, self.python)
        self._save(record._replace(status=_status("Creating", "Creating")))
        with open(folder / "runner.log", "wb") as log:
            # Another interpreter: the job must outlive the command that made it.
            process = processes.start(
                [sys.executable, "-m", "jumar.cloud.standin.runner", str(self.home), id_],
                stdout=log, stderr=processes.STDOUT,
            )  # fmt: skip
        (folder / "pid").write_text(str(process.pid), encoding="ascii")
        _children.append(process)
        return self.get(id_)

    def get(self, id_: str) -> Record:
        try:
            data = json.loads((self.folder(id_) / "job.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise Rejected("Jumar.NoSuchJob", f"no such job: {id_}", 404) from None
        record = Record(**data)
        if record.status["phase"] not in ENDED and not self._alive(id_):
            again = Record(**json.loads((self.folder(id_) / "job.json").read_text(encoding="utf-8")))
            if again.status["phase"] in ENDED:
                return again
            return record._replace(status={**record.status, "phase": "Abnormal", "secondary_phase": "Lost"})
        return record

    def all(self) -> list[Record]:
        """The newest first."""
        found = [self.get(path.parent.name) for path in self.top.glob("*/job.json")]
        return sorted(found, key=lambda record: -record.made)

    def update(self, id_: str, phase: str, secondary: str, *, code: int | None = None) -> None:
        """Write a new state; called by the runner, and by `stop` for `Terminating`."""
        with self._locked(id_):
            record = Record(**json.loads((self.folder(id_) / "job.json").read_text(encoding="utf-8")))
            status = {**record.status, **_status(phase, secondary)}
            now = int(time.time() * 1000)
            if phase == "Running":
                status["start_time"] = now
            elif record.status.get("start_time"):
                status["start_time"] = record.status["start_time"]
                status["duration"] = now - status["start_time"]
            if code is not None:
                status["exit_code"] = code
            events = [*record.status.get("events", ()), {"time": now, "message": f"the job is {phase}"}]
            self._save(record._replace(status={**status, "events": events}))

    def stop(self, id_: str) -> Record:
        record = self.get(id_)
        if record.status["phase"] in ENDED:
            raise Rejected("Jumar.WrongState", f"the job has ended already: {record.status['phase']}")
        self.update(id_, "Terminating", "Terminating")
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            os.kill(self._pid(id_), signal.SIGTERM)
        return self.get(id_)

    def delete(self, id_: str) -> None:
        if self.get(id_).status["phase"] not in ENDED:
            raise Rejected("Jumar.WrongState", "a running job cannot be deleted")
        shutil.rmtree(self.folder(id_))

    def logs(self, id_: str) -> dict[str, Path]:
        """The log files of a job by name: the platform's own and one per process."""
        self.get(id_)
        folder = self.folder(id_) / "log"
        return {path.name: path for path in sorted(folder.iterdir())} if folder.is_dir() else {}

    def _save(self, record: Record) -> None:
        write.replace(self.folder(record.id) / "job.json", json.dumps(record._asdict()).encode())

    @contextlib.contextmanager
    def _locked(self, id_: str) -> Iterator[None]:
        with open(self.folder(id_) / "lock", "w", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _pid(self, id_: str) -> int:
        return int((self.folder(id_) / "pid").read_text(encoding="ascii"))

    def _alive(self, id_: str) -> bool:
        for process in _children:
            process.poll()
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


_children: list[processes.Process] = []
"""Runners started here: they must be waited for, or they stay as zombies."""


def check(body: Mapping[str, Any]) -> None:
    """Refuse what the platform refuses."""
    try:
        metadata, algorithm, spec = body["metadata"], body["algorithm"], body["spec"]
        name, flavor = metadata["name"], spec["resource"]["flavor_id"]
    except (KeyError, TypeError) as error:
        raise Rejected("ModelArts.0103", f"the request has no {error}") from None
    limits = table("modelarts.toml")["limits"]
    if not re.fullmatch(limits["name"], str(name)):
        raise Rejected("Jumar.BadName", f"not a job name: {name}")
    if not algorithm.get("code_dir") or not algorithm.get("boot_file"):
        raise Rejected("ModelArts.2755", "algorithm not found: code_dir and boot_file are needed")
    if not str(algorithm["boot_file"]).startswith(str(algorithm["code_dir"])):
        raise Rejected("ModelArts.2755", "the boot file is not in the code folder")
    if flavor not in flavors():
        raise Rejected("Jumar.NoSuchFlavor", f"no such flavor: {flavor}")
    if not 1 <= contract.node_count(body) <= limits["standin_nodes"]:
        raise Rejected("Jumar.NoSuchFlavor", f"the stand-in has {limits['standin_nodes']} nodes: take fewer")
    values = algorithm.get("environments") or {}
    for key, value in values.items():
        if key.startswith("MA_") and key != "MA_RUN_METHOD":
            raise Rejected("Jumar.BadEnvironment", f"environment variables must not begin with MA_: {key}")
        if "$" in str(value):
            raise Rejected("Jumar.BadEnvironment", f"environment values must not contain $: {key}")
    if len(values) > limits["environments"]:
        raise Rejected("Jumar.BadEnvironment", f"more than {limits['environments']} environment variables")


def rejected_as_user_error(error: Rejected) -> UserError:
    return UserError(f"the platform refuses the job: {error.message}")


def _status(phase: str, secondary: str) -> dict[str, Any]:
    return {"phase": phase, "secondary_phase": secondary, "duration": 0, "start_time": 0, "tasks": []}
