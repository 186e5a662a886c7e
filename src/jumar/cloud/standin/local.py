"""The stand-in as a platform, without a server between; what it refuses is a user's mistake."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jumar.cloud import catalogue, modelarts_v2
from jumar.cloud.job import Engine, Flavor, Job, JobSpec, LogEnd, Refused
from jumar.cloud.standin.jobs import Jobs
from jumar.cloud.standin.machine import PLAIN, Machine
from jumar.core.errors import UserError


class Local:
    stops_jobs = True

    def __init__(self, home: Path, machine: Machine = PLAIN) -> None:
        self.jobs, self.machine = Jobs(home), machine

    def request(self, spec: JobSpec) -> Mapping[str, Any]:
        return modelarts_v2.encode_spec(spec)

    def submit(self, spec: JobSpec) -> Job:
        with _said():
            return self.jobs.create(spec, self.machine)

    def get(self, id_: str) -> Job:
        with _said():
            return self.jobs.get(id_)

    def list(self) -> Sequence[Job]:
        return self.jobs.all()

    def stop(self, id_: str) -> None:
        with _said():
            self.jobs.stop(id_)

    def delete(self, id_: str) -> None:
        with _said():
            self.jobs.delete(id_)

    def logs(self, id_: str, task: str = "worker-0") -> LogEnd:
        with _said():
            return self.jobs.log(id_, task)

    def flavors(self) -> Sequence[Flavor]:
        return tuple(catalogue.flavors().values())

    def engines(self) -> Sequence[Engine]:
        return tuple(catalogue.engines().values())


@contextlib.contextmanager
def _said() -> Iterator[None]:
    try:
        yield
    except Refused as error:
        raise UserError(error.message, "`jumar cloud ls-jobs` lists the jobs") from None
