"""The job half of `jumar cloud`: a job built from what the user said, sent, watched, ended, and its results."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumar.app.cloud_place import Place
from jumar.app.talk import Tell, silent
from jumar.core.compat import dataclass
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK, UserError

if TYPE_CHECKING:
    from jumar.cloud.job import Job
    from jumar.cloud.jobs import JobPlan
    from jumar.cloud.sync import Progress

POLL = 1.0


@dataclass(frozen=True, slots=True)
class SubmitRequest:
    """What the user said of a job; what is left empty is taken from `[cloud]` of `jumar.toml`, or chosen."""

    code: str | None = None
    boot: str | None = None
    data: tuple[str, ...] = ()
    devices: int | None = None
    nodes: int | None = None
    param: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    bucket: str | None = None
    name: str | None = None
    engine: str | None = None
    flavor: str | None = None
    auto_stop: float | None = None
    python: str | None = None
    on: str | None = None
    contract: str | None = None
    price: float | None = None


@dataclass(frozen=True, slots=True)
class Pulled:
    """What was fetched of one result of a job."""

    folder: Path
    files: int
    bytes: int
    skipped: int


def build(place: Place, request: SubmitRequest) -> JobPlan:
    """What the user said and what `jumar.toml` says, as a plan; nothing is changed anywhere."""
    from jumar.cloud import jobs

    table = place.config.table

    def get(key: str, default: Any) -> Any:
        return getattr(request, key) or table.get(key) or default

    if not get("code", "") or not get("boot", ""):
        missing = "--code" if not get("code", "") else "--boot"
        raise UserError(f"missing `{missing}`", "`jumar cloud submit --code code --boot train.py --data data`")
    above = Path() if place.config.path is None else place.config.path.parent
    base = Path() if request.code else above
    data = request.data or _inputs(table.get("data") or (), above)
    wish = jobs.JobRequest(
        code=base / get("code", ""), boot=get("boot", ""), data=data,
        devices=get("devices", 1), bucket=get("bucket", "jumar-local" if place.target.is_local else ""),
        name=get("name", ""), parameters=tuple(get("param", ())), environments=tuple(get("env", ())),
        engine=get("engine", ""), flavor=get("flavor", ""), hours=get("auto_stop", 0),
        nodes=get("nodes", 1), v1=get("contract", place.target.api) == "v1", price=get("price", 0.0),
        new_bucket=place.target.is_local, python=_python(place, request.python), on=_on(place, get("on", "")),
        top=above if place.config.path else None, data_of_project=not request.data,
    )  # fmt: skip
    return jobs.build(wish, place.store, place.platform(), place.secrets())


def send(
    place: Place, plan: JobPlan, progress: Progress | None = None, tell: Tell = silent, *, allow_secrets: bool = False
) -> Job:
    """Start the job of a plan; nothing is sent when the code seems to hold keys."""
    from jumar.cloud import jobs

    if plan.leaks and not allow_secrets:
        leak = plan.leaks[0]
        raise UserError(
            f"{leak.path}:{leak.line}: {leak.what}: nothing was sent",
            "remove it from the code, or use `--allow-secrets` if it is not a secret",
        )
    machine = place.machine(plan)
    if machine.where:
        tell(machine.where)
    made = jobs.submit(plan, place.store, place.platform(machine), progress)
    place.remember(made.id)
    return made


def log(place: Place, id_: str, *, everything: bool = False) -> Iterator[str]:
    """The lines of all processes so far; with `everything` the platform's own lines too."""
    for _, text in _news(place, place.platform().get(id_), {}):
        yield from _lines(text, everything)


def follow(place: Place, id_: str, tell: Tell, *, everything: bool = False) -> Job:
    """Tell each new line of the log until the job has ended, and return it."""
    seen: dict[str, int] = {}
    rest: dict[str, str] = {}
    while True:
        job = place.platform().get(id_)
        for task, text in _news(place, job, seen):
            whole, newline, rest[task] = (rest.get(task, "") + text).rpartition("\n")
            for line in _lines(whole + newline, everything):
                tell(line)
        if job.state.ended:
            for text in rest.values():
                for line in _lines(text, everything):
                    tell(line)
            return job
        time.sleep(POLL if not place.target.is_local else POLL / 4)


def last_log(place: Place, id_: str) -> list[str]:
    """The last lines of the first process, without the platform's own."""
    return list(_lines(place.platform().logs(id_).text, everything=False))


def exit_code(job: Job) -> int:
    """Of a command that waited for the job: the job's own."""
    from jumar.cloud.job import State

    return EXIT_OK if job.state is State.COMPLETED else job.exit_code or EXIT_FINDINGS


def pull(place: Place, job: str | None, output: Path, progress: Progress | None = None) -> list[Pulled]:
    """Fetch what is new of a job's results, each into a folder of its own if there are several."""
    from jumar.cloud import sync

    results = place.platform().get(place.find(job)).spec.outputs
    pulled = []
    for channel in results:
        folder = output / channel.name if len(results) > 1 else output
        found = sync.plan_download(place.store, channel.place, folder)
        sync.run(place.store, found, progress)
        pulled.append(Pulled(folder, found.files, found.size, found.skipped))
    return pulled


def stop(place: Place, job: str | None) -> str:
    """End a job; returns its id."""
    id_ = place.find(job)
    place.platform().stop(id_)
    return id_


def delete(place: Place, job: str | None) -> str:
    """Remove a job that has ended; returns its id."""
    id_ = place.find(job)
    place.platform().delete(id_)
    return id_


def _news(place: Place, job: Job, seen: dict[str, int]) -> Iterator[tuple[str, str]]:
    """What each node's log has more than before; `seen` is how far that was."""
    for task in job.tasks:
        end = place.platform().logs(job.id, task)
        text, seen[task] = end.after(seen.get(task, 0)), max(end.size, seen.get(task, 0))
        if text:
            yield task, text


def _lines(text: str, everything: bool) -> Iterator[str]:
    from jumar.cloud.contract import SERVICE_LINE

    yield from (line for line in text.splitlines() if everything or not line.startswith(SERVICE_LINE))


def _python(place: Place, said: str | None) -> str:
    """The interpreter of a job; a path in `jumar.toml` is relative to that file."""
    if not place.target.is_local:
        if said:
            raise UserError("`--python` is for jobs on this machine", "on the cloud the engine has its own Python")
        return ""
    chosen = said or place.config.table.get("python") or ""
    from jumar.cloud.standin import interpreter

    base = Path() if said or place.config.path is None else place.config.path.parent
    return interpreter.absolute(chosen, base)


def _inputs(value: str | Sequence[str], base: Path) -> tuple[str, ...]:
    """What `jumar.toml` names: folders are relative to that file."""
    found: list[str] = []
    for text in [value] if isinstance(value, str) else value:
        match = re.match(r"(?:[A-Za-z_]\w*=)?", text)
        name, place = (match[0] if match else ""), text[match.end() if match else 0 :]
        found.append(text if "://" in place else f"{name}{base / place}")
    return tuple(found)


def _on(place: Place, said: str) -> str:
    """What MindSpore runs on, if not on emulated NPUs; a key of `jumar.toml` is for the stand-in alone."""
    if said not in ("", "cpu"):
        raise UserError(f"a job cannot run on `{said}`", "`cpu`, or leave `on` out: emulated NPUs")
    return said if place.target.is_local else ""
