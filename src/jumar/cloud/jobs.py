"""From what a user asks to a job on a platform: what is sent where, and what the platform is asked for.

Building changes nothing, here or there, so `plan`, `--print` and `submit` share it; `submit` carries it out.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jumar.cloud import address, catalogue, ignore, keys, secrets, sync
from jumar.cloud.address import Remote
from jumar.cloud.job import Channel, Engine, Flavor, Job, JobSpec, Platform
from jumar.cloud.store import Store
from jumar.core import read
from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean

_IMPORT = re.compile(rb"^\s*(?:import|from)\s+(mindspore|torch)\b", re.M)


class JobRequest(NamedTuple):
    """What the user asks for."""

    code: Path
    boot: str
    data: Sequence[str] = ()
    """`[NAME=]FOLDER` or `[NAME=]obs://…`; the name is `data_url` unless said."""
    devices: int = 1
    nodes: int = 1
    """Machines, each with so many devices."""
    bucket: str = ""
    name: str = ""
    parameters: Sequence[str] = ()
    environments: Sequence[str] = ()
    engine: str = ""
    flavor: str = ""
    hours: float = 0
    v1: bool = False
    price: float = 0
    new_bucket: bool = False
    """Make the bucket when the job is sent, if it is missing."""
    python: str = ""
    """Interpreter of a job on this machine."""
    on: str = ""
    """`cpu`: a MindSpore job on this machine runs on MindSpore's CPU target, not on emulated NPUs."""
    top: Path | None = None
    """The project: links that lead out of it are not sent. Without it, the code folder."""
    data_of_project: bool = False
    """Does the project's own file name the data?"""


class JobPlan(NamedTuple):
    """What `submit` does; nothing has happened yet."""

    spec: JobSpec
    request: Mapping[str, Any]
    """The same as the platform reads it."""
    devices: int
    """Of each node."""
    uploads: tuple[sync.SyncPlan, ...]
    leaks: tuple[secrets.Leak, ...]
    framework: str
    new_bucket: str
    """A bucket to make before anything is sent."""
    cost: float | None
    """The most it can cost, if a price per hour is known."""
    python: str = ""
    """Interpreter of a job on this machine."""
    on: str = ""
    """`cpu`: a MindSpore job on this machine runs on MindSpore's CPU target, not on emulated NPUs."""


def build(wish: JobRequest, store: Store, platform: Platform, known: Sequence[str] = ()) -> JobPlan:
    """Check everything that can be checked before anything is sent."""
    files = _code_files(wish)
    framework = _framework(wish.code / wish.boot, files)
    name = _name(wish)
    if not wish.bucket:
        raise UserError("no bucket is named", "`--bucket NAME`, or `bucket` in `[cloud]` of `jumar.toml`")
    keys.check_bucket(wish.bucket)
    top = Remote("obs", wish.bucket, f"{_plain(wish.code.absolute().name)}/")
    code = top.child(f"code/{_plain(wish.code.absolute().name)}/")
    ignored = (*ignore.CODE, *ignore.read_lines(wish.code, (".gitignore",)))
    request = sync.SyncRequest(ignored, new_bucket=wish.new_bucket, within=_top(wish))
    uploads = [sync.plan_upload(store, wish.code, code, request)]
    inputs = _inputs(wish, store, top)
    uploads += [plan for _, plan in inputs if plan is not None]
    flavor = _flavor(wish, platform.flavors())
    spec = JobSpec(
        name=name,
        code=code,
        boot=Path(wish.boot).as_posix(),
        engine=_engine(wish, framework, platform.engines()).version,
        flavor=flavor.id,
        nodes=wish.nodes,
        parameters=tuple(_pair(one, "--param") for one in wish.parameters),
        inputs=tuple(channel for channel, _ in inputs),
        outputs=(Channel("train_url", top.child(f"{name}/output/")),),
        environment=tuple(dict(_pair(one, "--env") for one in wish.environments).items()),
        log=top.child(f"{name}/log/"),
        hours=(wish.hours or float(catalogue.limits()["auto_stop_hours"])) if platform.stops_jobs else None,
        description="submitted by jumar",
    )
    return JobPlan(
        spec=spec,
        request=platform.request(spec),
        devices=flavor.devices,
        uploads=tuple(uploads),
        leaks=tuple(secrets.scan([(local.name, local.path) for local in files], known)),
        framework=framework,
        new_bucket=wish.bucket if wish.new_bucket and wish.bucket not in store.buckets() else "",
        cost=spec.hours * wish.price * wish.nodes if wish.price and spec.hours else None,
        python=wish.python,
        on=wish.on,
    )


def submit(plan: JobPlan, store: Store, platform: Platform, progress: sync.Progress | None = None) -> Job:
    """Send what changed, then start the job; a failed upload starts nothing."""
    if plan.new_bucket:
        store.make_bucket(plan.new_bucket)
    for upload in plan.uploads:
        sync.run(store, upload, progress)
    return platform.submit(plan.spec)


def _name(wish: JobRequest) -> str:
    name = wish.name or f"{_plain(wish.code.absolute().name)[:40]}-{time.strftime('%m%d-%H%M%S')}"
    if not re.fullmatch(catalogue.limits()["name"], name):
        raise UserError(f"not a job name: `{name}`", "1 to 64 letters, digits, `_` and `-`")
    return name


def _code_files(wish: JobRequest) -> list[ignore.Local]:
    if not wish.code.is_dir():
        raise UserError(f"no such code folder: `{wish.code}`")
    boot = wish.code / wish.boot
    if not boot.is_file():
        near = [path.relative_to(wish.code).as_posix() for path in wish.code.rglob("*.py")][:1000]
        raise UserError(
            f"the boot file is missing: `{boot}`", did_you_mean(wish.boot, near, "name it relative to `--code`")
        )
    patterns = [
        *ignore.ALWAYS,
        *ignore.read_lines(wish.code),
        *ignore.CODE,
        *ignore.read_lines(wish.code, (".gitignore",)),
    ]
    files = list(ignore.walk(wish.code, ignore.compile_patterns(patterns), within=_top(wish)))
    limits = catalogue.limits()
    size = sum(local.size for local in files)
    if size > limits["code_bytes"] or len(files) > limits["code_files"]:
        raise UserError(
            f"the code folder is too large: {size / 1e6:.0f} MB in {len(files)} files; the platform takes"
            f" {limits['code_bytes'] >> 20} MiB in {limits['code_files']} files",
            "keep data out of it with `.jumarignore`, and pass it with `--data`",
        )
    if wish.boot not in {local.name for local in files}:
        raise UserError(f"an ignore file excludes the boot file `{wish.boot}`", "include it with a `!` line")
    return files


def _top(wish: JobRequest) -> Path:
    """What the code may link to: its project, if it lies in one."""
    return wish.top if wish.top is not None and _is_in(wish.code, wish.top) else wish.code


def _is_in(path: Path, top: Path | None) -> bool:
    found = Path(os.path.realpath(path))
    return top is not None and Path(os.path.realpath(top)) in (found, *found.parents)


def _framework(boot: Path, files: Sequence[ignore.Local]) -> str:
    paths = [boot, *(Path(local.path) for local in files if local.name.endswith(".py"))]
    for path in paths:
        if match := _IMPORT.search(read.content(path)):
            return "mindspore" if match[1] == b"mindspore" else "pytorch"
    return "python"


def _inputs(wish: JobRequest, store: Store, top: Remote) -> list[tuple[Channel, sync.SyncPlan | None]]:
    found: list[tuple[Channel, sync.SyncPlan | None]] = []
    for said in wish.data:
        match = re.match(r"([A-Za-z_]\w*)=(.+)", said, re.S)
        name, where = (match[1], match[2]) if match else ("data_url", said)
        if name in {channel.name for channel, _ in found}:
            raise UserError(f"two inputs are called `{name}`", "name them: `--data pretrained_url=FOLDER`")
        source = address.parse(where)
        if isinstance(source, Remote):
            if next(iter(store.entries(source.bucket, source.key)), None) is None:
                raise UserError(f"nothing is stored at `{source}`", "`jumar cloud ls` shows what is there")
            found.append((Channel(name, source._replace(scheme="obs")), None))
            continue
        place = top.child(f"data/{_plain(source.absolute().name)}/")
        within = wish.top if wish.data_of_project and _is_in(source, wish.top) else None
        plan = sync.plan_upload(store, source, place, sync.SyncRequest(new_bucket=wish.new_bucket, within=within))
        found.append((Channel(name, place), plan))
    return found


def _engine(wish: JobRequest, framework: str, known: Sequence[Engine]) -> Engine:
    if wish.engine:
        versions = [engine.version for engine in known]
        if wish.engine not in versions:
            hint = did_you_mean(wish.engine, versions, f"known: {', '.join(versions[:6])}")
            raise UserError(f"no such engine: `{wish.engine}`", hint)
        return known[versions.index(wish.engine)]
    fits = [engine for engine in known if engine.v1 == wish.v1]
    start = framework if framework != "python" else "pytorch"
    best = [engine for engine in fits if engine.version.lower().startswith(start)] or fits
    if not best:
        raise UserError(f"the platform has no engine for {framework}", "name one with `--engine`")
    return best[-1]


def _flavor(wish: JobRequest, known: Sequence[Flavor]) -> Flavor:
    """The flavour that was named, or the first with so many devices; refused if it has too few nodes."""
    names = [flavor.id for flavor in known]
    if wish.flavor:
        if wish.flavor not in names:
            raise UserError(f"no such flavour: `{wish.flavor}`", did_you_mean(wish.flavor, names, ", ".join(names)))
        chosen = known[names.index(wish.flavor)]
    else:
        fits = [flavor for flavor in known if flavor.devices == wish.devices]
        if not fits:
            sizes = ", ".join(map(str, sorted({flavor.devices for flavor in known if flavor.devices})))
            raise UserError(f"no flavour has {wish.devices} devices", f"take one of {sizes}")
        chosen = fits[0]
    most = chosen.most_nodes
    if most and wish.nodes > most:
        raise UserError(
            f"the flavour `{chosen.id}` has at most {most} node{'s' if most > 1 else ''}, not {wish.nodes}",
            "try the job with fewer",
        )
    return chosen


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UserError(f"`{option} {text}` is not NAME=VALUE")
    return name, value


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "code"
