"""A target with everything that job commands need of it: store, platform, and the job that was submitted last."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from jumar.cloud import credentials
from jumar.cloud import target as targets
from jumar.cloud.standin.machine import PLAIN, Machine
from jumar.core.errors import UserError

if TYPE_CHECKING:
    from jumar.cloud.job import Platform
    from jumar.cloud.jobs import JobPlan
    from jumar.cloud.store import Store


class Place:
    def __init__(self, name: str | None) -> None:
        self.config = targets.load_config(Path())
        self.target = targets.find(name, self.config)

    @functools.cached_property
    def store(self) -> Store:
        """Opened on first use: a token is enough for ModelArts, and not for OBS."""
        return targets.open_store(self.target)

    def close(self) -> None:
        if "store" in self.__dict__:
            self.store.close()

    def platform(self, machine: Machine = PLAIN) -> Platform:
        """ModelArts, or the stand-in without a server between, whose jobs run on `machine`."""
        if self.target.is_local:
            from jumar.cloud.standin.local import Local

            return Local(targets.home(), machine)
        from jumar.cloud import rest, rest_v1

        kind = rest_v1.RestV1 if self.target.api == "v1" else rest.Rest
        url = self.target.modelarts_endpoint
        pair = (credentials.token(url) or credentials.find(self.target.name, url)) if url else None
        return kind(url, self.target.project_id, pair)

    def secrets(self) -> list[str]:
        return [] if self.target.is_local else credentials.secrets(self.target.name)

    def machine(self, plan: JobPlan) -> Machine:
        """On the stand-in jobs run on emulated NPUs, unless there are real ones or the CPU is asked for."""
        if not self.target.is_local:
            return PLAIN
        from jumar.cloud.standin import interpreter
        from jumar.emulate import command
        from jumar.runtime import npus, variables

        python, is_mindspore = plan.python, plan.framework == "mindspore"
        if plan.on and not is_mindspore:
            raise UserError("`--on cpu` is for MindSpore jobs, and this one does not import mindspore", "leave it out")
        if python or is_mindspore:
            interpreter.check(python or sys.executable, plan.framework)
        if plan.on:
            return Machine(interpreter.ON_CPU, python)
        if variables.EMULATE.read() is False or npus.devices() or plan.framework == "python":
            return Machine(python=python)
        if python and not is_mindspore and not os.path.samefile(python, sys.executable):
            raise UserError(
                "PyTorch jobs run on the emulated NPUs of Jumar's own interpreter",
                "leave `--python` out; `JUMAR_EMULATE=0` runs the job there without them",
            )
        request = command.RunRequest(cards=plan.devices, python=(python or None) if is_mindspore else None)
        built = command.build(["-c", "import mindspore" if is_mindspore else "0"], request, os.environ)
        built = command.announced(built)
        command.prepare(built, request)
        return Machine(built.variables, python, built.where)

    def remember(self, id_: str) -> None:
        folder = targets.home()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / f"last-{self.target.name}").write_text(id_, encoding="ascii")

    def find(self, job: str | None) -> str:
        """A job's id: as given, by its name, or the last one."""
        if job is None:
            path = targets.home() / f"last-{self.target.name}"
            if not path.is_file():
                raise UserError("no job has been submitted yet", "`jumar cloud submit`, or name a job")
            return path.read_text(encoding="ascii").strip()
        known = {one.id: one.spec.name for one in self.platform().list()}
        found = [id_ for id_, name in known.items() if job in (id_, name) or id_.startswith(job)]
        if len(found) != 1:
            from jumar.core.nearest import did_you_mean

            what = "no such job" if not found else "the name matches several jobs"
            raise UserError(f"{what}: `{job}`", did_you_mean(job, known.values(), "`jumar cloud ls-jobs` lists them"))
        return found[0]


@contextlib.contextmanager
def opened_place(name: str | None) -> Iterator[Place]:
    with contextlib.closing(Place(name)) as place:
        yield place
