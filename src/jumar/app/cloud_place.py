"""A target with everything that job commands need of it: store, platform, and the job that was submitted last."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jumar.cloud import credentials
from jumar.cloud import target as targets
from jumar.core.errors import UserError


class Place:
    def __init__(self, name: str | None) -> None:
        self.config = targets.load_config(Path())
        self.target = targets.find(name, self.config)
        self.extra: dict[str, str] = {}
        self.python = ""

    @functools.cached_property
    def store(self) -> Any:
        """Opened on first use: a token is enough for ModelArts, and not for OBS."""
        return targets.open_store(self.target)

    def close(self) -> None:
        if "store" in self.__dict__:
            self.store.close()

    def platform(self) -> Any:
        """ModelArts, or the stand-in without a server between."""
        if not self.target.is_local:
            from jumar.cloud import rest, rest_v1

            pair = None if rest.token() else credentials.find(self.target.name)
            kind = rest_v1.RestV1 if self.target.api == "v1" else rest.Rest
            return kind(self.target.modelarts_endpoint, self.target.project_id, pair)
        from jumar.cloud.standin.jobs import Jobs
        from jumar.cloud.standin.modelarts_server import Api

        return _Local(Api(Jobs(targets.home(), self.extra, self.python)))

    def secrets(self) -> list[str]:
        from jumar.cloud import rest

        if self.target.is_local:
            return []
        return [credentials.find(self.target.name).secret_key, *filter(None, [rest.token()])]

    def prepare(self, framework: str, devices: int, python: str) -> str:
        """On the stand-in PyTorch runs on emulated NPUs and MindSpore on its CPU device, unless there are real NPUs.

        Returns the line that says which NPUs are emulated, if any are.
        """
        if not self.target.is_local:
            return ""
        from jumar.cloud.standin import interpreter
        from jumar.emulate import command

        self.python = python
        if python or framework == "mindspore":
            interpreter.check(python or sys.executable, framework)
        if os.environ.get("JUMAR_EMULATE") == "0" or command.devices():
            return ""
        if framework == "mindspore":
            self.extra = dict(interpreter.MINDSPORE)
        elif framework == "pytorch":
            if python and not os.path.samefile(python, sys.executable):
                raise UserError(
                    "PyTorch jobs run on the emulated NPUs of Jumar's own interpreter",
                    "leave `--python` out; `JUMAR_EMULATE=0` runs the job there without them",
                )
            wish = command.Wish(cards=devices)
            built = command.build(["-c", "0"], wish, os.environ)
            command.prepare(built, wish)
            self.extra = built.variables
            return built.where
        return ""

    def remember(self, id_: str) -> None:
        folder = targets.home()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / f"last-{self.target.name}").write_text(id_, encoding="ascii")

    def find(self, job: str | None) -> str:
        """A job's id: as given, by its name, or the last one."""
        if job is None:
            path = targets.home() / f"last-{self.target.name}"
            if not path.is_file():
                raise UserError("no job was submitted yet", "`jumar cloud submit`, or name a job")
            return path.read_text(encoding="ascii").strip()
        known: dict[str, str] = {
            item["metadata"]["id"]: item["metadata"]["name"] for item in self.platform().search().get("items") or ()
        }
        found = [id_ for id_, name in known.items() if job in (id_, name) or id_.startswith(job)]
        if len(found) != 1:
            from jumar.core.nearest import did_you_mean

            what = "no such job" if not found else "several jobs are meant"
            raise UserError(f"{what}: `{job}`", did_you_mean(job, known.values(), "`jumar cloud ls-jobs` lists them"))
        return found[0]


class _Local:
    """The stand-in's own calls; what it refuses is a user's mistake."""

    def __init__(self, api: Any) -> None:
        self.api = api

    def __getattr__(self, name: str) -> Any:
        from jumar.cloud.standin.jobs import Rejected

        real = getattr(self.api, name)

        def call(*arguments: Any) -> Any:
            try:
                return real(*arguments)
            except Rejected as error:
                raise UserError(error.message, "`jumar cloud ls-jobs` lists the jobs") from None

        return call


@contextlib.contextmanager
def opened_place(name: str | None) -> Iterator[Place]:
    with contextlib.closing(Place(name)) as place:
        yield place
