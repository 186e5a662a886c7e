"""A training job as a value: what is sent where, and the request that starts it. Building it changes nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from jumar.cloud import address, ignore, keys, secrets, sync
from jumar.cloud.address import Remote
from jumar.cloud.store import Store
from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.tables.load import table

ENDED = ("Completed", "Failed", "Terminated", "Abnormal")
_IMPORT = re.compile(rb"^\s*(?:import|from)\s+(mindspore|torch)\b", re.M)


class Platform(Protocol):
    """ModelArts, or the stand-in."""

    def request(self, body: Mapping[str, Any]) -> Mapping[str, Any]: ...
    def create(self, body: Mapping[str, Any]) -> dict[str, Any]: ...
    def get(self, id_: str) -> dict[str, Any]: ...
    def search(self, offset: int = 0, limit: int = 100) -> dict[str, Any]: ...
    def preview(self, id_: str, task: str = "worker-0") -> dict[str, Any]: ...
    def stop(self, id_: str) -> dict[str, Any]: ...
    def flavors(self) -> dict[str, Any]: ...
    def engines(self) -> dict[str, Any]: ...


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


class JobPlan(NamedTuple):
    body: Mapping[str, Any]
    request: Mapping[str, Any]
    """The body as it is sent: version 1 of the interface has another one."""
    uploads: tuple[sync.SyncPlan, ...]
    leaks: tuple[secrets.Leak, ...]
    framework: str
    new_bucket: str
    """A bucket to make before anything is sent."""
    cost: float | None
    """The most it can cost, if a price per hour is known."""

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])


def build(wish: JobRequest, store: Store, platform: Platform, known: Sequence[str] = ()) -> JobPlan:
    """Check everything that can be checked before anything is sent."""
    files = _code_files(wish)
    framework = _framework(wish.code / wish.boot, files)
    limits = table("modelarts.toml")["limits"]
    name = wish.name or f"{_plain(wish.code.absolute().name)[:40]}-{time.strftime('%m%d-%H%M%S')}"
    if not re.fullmatch(limits["name"], name):
        raise UserError(f"not a job name: `{name}`", "1 to 64 letters, digits, `_` and `-`")
    if not wish.bucket:
        raise UserError("no bucket is named", "`--bucket NAME`, or `bucket` in `[cloud]` of `jumar.toml`")
    keys.check_bucket(wish.bucket)
    top = Remote("obs", wish.bucket, f"{_plain(wish.code.absolute().name)}/")
    code = top.child(f"code/{_plain(wish.code.absolute().name)}/")
    hours = wish.hours or float(limits["auto_stop_hours"])
    ignored = (*ignore.CODE, *ignore.read_lines(wish.code, (".gitignore",)))
    uploads = [sync.plan_upload(store, wish.code, code, sync.SyncRequest(ignored, new_bucket=wish.new_bucket))]
    inputs = []
    for channel, place, plan in _inputs(wish, store, top):
        inputs.append(_channel(channel, place))
        uploads += [plan] if plan is not None else []
    algorithm: dict[str, Any] = {
        "code_dir": address.platform_form(code),
        "boot_file": address.platform_form(code.child(Path(wish.boot).as_posix())),
        "engine": _engine(wish, framework, platform),
        "parameters": [dict(zip(("name", "value"), _pair(one, "--param"), strict=True)) for one in wish.parameters],
        "inputs": inputs,
        "outputs": [_channel("train_url", top.child(f"{name}/output/"))],
        "environments": dict(_pair(one, "--env") for one in wish.environments),
    }
    body = {
        "kind": "job",
        "metadata": {"name": name, "workspace_id": "0", "description": "submitted by jumar"},
        "algorithm": algorithm,
        "spec": {
            "resource": {"flavor_id": _flavor(wish, platform), "node_count": wish.nodes},
            "log_export_path": {"obs_url": address.platform_form(top.child(f"{name}/log/"))},
            "auto_stop": {"time_unit": "HOURS", "duration": int(hours) if hours == int(hours) else hours},
        },
    }
    leaks = secrets.scan([(local.name, local.path) for local in files], known)
    request = platform.request(body)
    cost = hours * wish.price * wish.nodes if wish.price and "spec" in request else None
    new = wish.bucket if wish.new_bucket and wish.bucket not in store.buckets() else ""
    return JobPlan(body, request, tuple(uploads), tuple(leaks), framework, new, cost)


def submit(plan: JobPlan, store: Store, platform: Platform, progress: sync.Progress | None = None) -> dict[str, Any]:
    """Send what changed, then start the job; a failed upload starts nothing."""
    if plan.new_bucket:
        store.make_bucket(plan.new_bucket)
    for upload in plan.uploads:
        sync.run(store, upload, progress)
    return platform.create(plan.body)


def outputs(job: Mapping[str, Any]) -> list[tuple[str, Remote]]:
    """Where a job leaves its results."""
    rows = (job.get("algorithm") or {}).get("outputs") or ()
    return [(row["name"], address.remote(f"obs:/{row['remote']['obs']['obs_url']}")) for row in rows]


def new_text(preview: Mapping[str, Any], seen: int) -> tuple[str, int]:
    """What a log has more than before: the preview holds only its end."""
    full = int(preview.get("full_size") or 0)
    raw = str(preview.get("content") or "").encode()
    return (raw[-(full - seen) :].decode(errors="replace") if full > seen else ""), max(full, seen)


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
    files = list(ignore.walk(wish.code, ignore.compile_patterns(patterns)))
    limits = table("modelarts.toml")["limits"]
    size = sum(local.size for local in files)
    if size > limits["code_bytes"] or len(files) > limits["code_files"]:
        raise UserError(
            f"the code folder is too large: {size / 1e6:.0f} MB in {len(files)} files; the platform takes"
            f" {limits['code_bytes'] >> 20} MiB in {limits['code_files']} files",
            "keep data out of it with `.jumarignore`, and pass it with `--data`",
        )
    if wish.boot not in {local.name for local in files}:
        raise UserError(f"the boot file `{wish.boot}` is left out by an ignore file", "take it back with a `!` line")
    return files


def _framework(boot: Path, files: Sequence[ignore.Local]) -> str:
    paths = [boot, *(Path(local.path) for local in files if local.name.endswith(".py"))]
    for path in paths:
        if match := _IMPORT.search(path.read_bytes()):
            return "mindspore" if match[1] == b"mindspore" else "pytorch"
    return "python"


def _inputs(wish: JobRequest, store: Store, top: Remote) -> list[tuple[str, Remote, sync.SyncPlan | None]]:
    found: list[tuple[str, Remote, sync.SyncPlan | None]] = []
    for said in wish.data:
        match = re.match(r"([A-Za-z_]\w*)=(.+)", said, re.S)
        name, where = (match[1], match[2]) if match else ("data_url", said)
        if name in {row[0] for row in found}:
            raise UserError(f"two inputs are called `{name}`", "name them: `--data pretrained_url=FOLDER`")
        source = address.parse(where)
        if isinstance(source, Remote):
            if next(iter(store.entries(source.bucket, source.key)), None) is None:
                raise UserError(f"nothing is stored at `{source}`", "`jumar cloud ls` shows what is there")
            found.append((name, source, None))
            continue
        place = top.child(f"data/{_plain(source.absolute().name)}/")
        found.append(
            (name, place, sync.plan_upload(store, source, place, sync.SyncRequest(new_bucket=wish.new_bucket)))
        )
    return found


def _engine(wish: JobRequest, framework: str, platform: Platform) -> dict[str, str]:
    known = platform.engines().get("items") or []
    versions = [str(row.get("engine_version") or row.get("engine_id")) for row in known]
    if wish.engine:
        if wish.engine not in versions:
            hint = did_you_mean(wish.engine, versions, f"known: {', '.join(versions[:6])}")
            raise UserError(f"no such engine: `{wish.engine}`", hint)
        chosen = wish.engine
    else:
        fits = [version for row, version in zip(known, versions, strict=True)
                if version.lower().startswith(framework if framework != "python" else "pytorch")
                and bool(row.get("v1_compatible")) == wish.v1]  # fmt: skip
        fits = fits or [
            version for row, version in zip(known, versions, strict=True) if row.get("v1_compatible") == wish.v1
        ]
        if not fits:
            raise UserError(f"the platform has no engine for {framework}", "name one with `--engine`")
        chosen = fits[-1]
    return {"engine_name": "Ascend-Powered-Engine", "engine_version": chosen}


def _flavor(wish: JobRequest, platform: Platform) -> str:
    rows = platform.flavors().get("flavors") or []
    sizes = {str(row["flavor_id"]): _devices(row) for row in rows}
    if wish.flavor:
        if wish.flavor not in sizes:
            raise UserError(f"no such flavour: `{wish.flavor}`", did_you_mean(wish.flavor, sizes, ", ".join(sizes)))
        return _with_room(wish, rows, wish.flavor)
    fits = [name for name, count in sizes.items() if count == wish.devices]
    if not fits:
        known = sorted({count for count in sizes.values() if count})
        raise UserError(f"no flavour has {wish.devices} devices", f"take one of {', '.join(map(str, known))}")
    return _with_room(wish, rows, fits[0])


def _with_room(wish: JobRequest, rows: Sequence[Mapping[str, Any]], flavor: str) -> str:
    """Refuse more machines than a flavour may have, before anything is sent."""
    most = next(int(row.get("max_num") or 0) for row in rows if row["flavor_id"] == flavor)
    if most and wish.nodes > most:
        raise UserError(
            f"the flavour `{flavor}` has at most {most} node{'s' if most > 1 else ''}, not {wish.nodes}",
            "try the job with fewer",
        )
    return flavor


def _devices(row: Mapping[str, Any]) -> int:
    return int(((row.get("flavor_info") or {}).get("npu") or {}).get("unit_num") or 0)


def _channel(name: str, place: Remote) -> dict[str, Any]:
    return {"name": name, "access_method": "parameter", "remote": {"obs": {"obs_url": address.platform_form(place)}}}


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UserError(f"`{option} {text}` is not NAME=VALUE")
    return name, value


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "code"
