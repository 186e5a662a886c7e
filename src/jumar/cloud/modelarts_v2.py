"""Version 2 of ModelArts' training interface as JSON: the only place that knows the names of its fields.

What is absent stays empty; what has the wrong kind is refused. Shapes: huaweicloudsdkmodelarts 3.1, read 2026-11-17.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from jumar.cloud import address
from jumar.cloud.address import Remote
from jumar.cloud.job import Access, Channel, Engine, Event, Fault, Flavor, Job, JobSpec, LogEnd, Refused, State
from jumar.core.errors import UserError

ENGINE_NAME = "Ascend-Powered-Engine"
UPLOAD = {"mode": "upload_periodically", "period": 30}
"""How the platform treats outputs."""
TERMINATE = {"action_type": "terminate"}
"""The body that ends a job."""
LOST = "Lost"
MOST_LISTED = 50
MOST_HOURS = 10**6
_HOURS = {"HOURS": 1.0, "MINUTES": 1 / 60}


def encode_spec(spec: JobSpec) -> dict[str, Any]:
    """The body that asks for a job."""
    algorithm: dict[str, Any] = {
        "code_dir": _url(spec.code),
        "boot_file": _url(spec.code and spec.code.child(spec.boot)),
        "engine": {"engine_name": ENGINE_NAME, "engine_version": spec.engine},
        "parameters": [{"name": name, "value": value} for name, value in spec.parameters],
        "inputs": [_encode_channel(channel) for channel in spec.inputs],
        "outputs": [_encode_channel(channel) for channel in spec.outputs],
        "environments": dict(spec.environment),
    }
    wanted: dict[str, Any] = {"resource": {"flavor_id": spec.flavor, "node_count": spec.nodes}}
    if spec.log is not None:
        wanted["log_export_path"] = {"obs_url": _url(spec.log)}
    if spec.hours is not None:
        whole = spec.hours == int(spec.hours)
        wanted["auto_stop"] = {"time_unit": "HOURS", "duration": int(spec.hours) if whole else spec.hours}
    metadata = {"name": spec.name, "workspace_id": spec.workspace, "description": spec.description}
    return {"kind": "job", "metadata": metadata, "algorithm": algorithm, "spec": wanted}


def decode_spec(body: object) -> JobSpec:
    """What a body asks for."""
    top = _table(body, "the body")
    metadata, algorithm = _table(top.get("metadata"), "metadata"), _table(top.get("algorithm"), "algorithm")
    spec = _table(top.get("spec"), "spec")
    resource = _table(spec.get("resource"), "spec.resource")
    engine = _table(algorithm.get("engine"), "algorithm.engine")
    code = _place(algorithm.get("code_dir"), "code_dir")
    values = _table(algorithm.get("environments"), "algorithm.environments")
    return JobSpec(
        name=_text(metadata.get("name"), "metadata.name"),
        code=code,
        boot=_boot(code, _place(algorithm.get("boot_file"), "boot_file")),
        engine=_text(engine.get("engine_version") or engine.get("engine_id"), "engine_version"),
        flavor=_text(resource.get("flavor_id"), "flavor_id"),
        nodes=1 if resource.get("node_count") is None else _whole(resource["node_count"], "node_count"),
        parameters=tuple(
            (_text(row.get("name"), "parameters.name"), _text(row.get("value"), "parameters.value"))
            for row in _rows(algorithm.get("parameters"), "algorithm.parameters")
        ),
        inputs=_channels(algorithm.get("inputs"), "inputs"),
        outputs=_channels(algorithm.get("outputs"), "outputs"),
        environment=tuple((str(name), _text(value, f"environments.{name}")) for name, value in values.items()),
        log=_place(_table(spec.get("log_export_path"), "spec.log_export_path").get("obs_url"), "log_export_path"),
        hours=_hours(_table(spec.get("auto_stop"), "spec.auto_stop")),
        description=_text(metadata.get("description"), "metadata.description"),
        workspace=_text(metadata.get("workspace_id"), "metadata.workspace_id") or "0",
    )


def encode_job(job: Job, flavor: Flavor, user: str) -> dict[str, Any]:
    """A job as the platform shows it."""
    shown = encode_spec(job.spec)
    shown["algorithm"]["outputs"] = [{**row, **UPLOAD} for row in shown["algorithm"]["outputs"]]
    shown["spec"]["resource"]["flavor_detail"] = encode_flavor(flavor)
    shown["metadata"] |= {"id": job.id, "create_time": job.created, "user_name": user}
    shown["status"] = {
        "phase": str(job.state),
        "secondary_phase": LOST if job.lost else str(job.state),
        "duration": job.duration or 0,
        "start_time": job.started,
        "tasks": list(job.tasks),
    }
    if job.exit_code is not None:
        shown["status"]["exit_code"] = job.exit_code
    return shown


def decode_job(answer: object) -> Job:
    """What the platform shows of a job."""
    top = _table(answer, "the answer")
    metadata, status = _table(top.get("metadata"), "metadata"), _table(top.get("status"), "status")
    resource = _table(_table(top.get("spec"), "spec").get("resource"), "spec.resource")
    code, duration = status.get("exit_code"), status.get("duration")
    tasks = status.get("tasks")
    return Job(
        id=_text(metadata.get("id"), "metadata.id"),
        spec=decode_spec(top),
        state=State(_text(status.get("phase"), "status.phase")),
        lost=status.get("secondary_phase") == LOST,
        created=_whole(metadata.get("create_time") or 0, "create_time"),
        started=_whole(status.get("start_time") or 0, "start_time"),
        duration=None if duration is None else _whole(duration, "duration"),
        exit_code=None if code is None else _whole(code, "exit_code"),
        devices=decode_flavor(_table(resource.get("flavor_detail"), "flavor_detail")).devices,
        tasks=tuple(str(task) for task in tasks) if isinstance(tasks, list) and tasks else ("worker-0",),
    )


def decode_search(body: object) -> tuple[int, int]:
    """Where a list of jobs begins, and how many it has."""
    asked = _table(body, "the body")
    offset, limit = _whole(asked.get("offset") or 0, "offset"), _whole(asked.get("limit") or MOST_LISTED, "limit")
    if offset < 0 or not 1 <= limit <= MOST_LISTED:
        raise Refused(Fault.BAD_REQUEST, f"`offset` is at least 0, `limit` 1 to {MOST_LISTED}")
    return offset, limit


def check_action(body: object) -> None:
    if _table(body, "the body").get("action_type") != TERMINATE["action_type"]:
        raise Refused(Fault.BAD_REQUEST, "action_type must be terminate")


def encode_jobs(jobs: Sequence[Job], flavors: Mapping[str, Flavor], user: str, offset: int, limit: int) -> Any:
    items = [encode_job(job, flavors[job.spec.flavor], user) for job in jobs[offset : offset + limit]]
    return {"total": len(jobs), "count": len(items), "limit": limit, "offset": offset, "items": items,
            "sort_by": "create_time", "order": "desc"}  # fmt: skip


def decode_jobs(answer: Mapping[str, Any]) -> list[Job]:
    return [decode_job(row) for row in _rows(answer.get("items"), "items")]


def encode_flavor(flavor: Flavor) -> dict[str, Any]:
    info = {
        "max_num": flavor.most_nodes,
        "cpu": {"arch": "arm", "core_num": flavor.cpu},
        "npu": {"unit_num": flavor.devices, "product_name": "ascend-snt9", "memory": "32GB"},
        "memory": {"size": flavor.memory_gb, "unit": "GB"},
    }
    return {"flavor_id": flavor.id, "flavor_name": flavor.id, "flavor_type": "Ascend", "max_num": flavor.most_nodes,
            "billing": {"code": flavor.id, "unit_num": 1}, "flavor_info": info}  # fmt: skip


def decode_flavor(row: Mapping[str, Any]) -> Flavor:
    info = _table(row.get("flavor_info"), "flavor_info")
    parts = {name: _table(info.get(name), name) for name in ("npu", "cpu", "memory")}
    return Flavor(
        id=_text(row.get("flavor_id"), "flavor_id"),
        devices=_whole(parts["npu"].get("unit_num") or 0, "unit_num"),
        most_nodes=_whole(row.get("max_num") or 0, "max_num"),
        cpu=_whole(parts["cpu"].get("core_num") or 0, "core_num"),
        memory_gb=_whole(parts["memory"].get("size") or 0, "size"),
    )


def encode_flavors(flavors: Collection[Flavor]) -> dict[str, Any]:
    return {"total_count": len(flavors), "flavors": [encode_flavor(flavor) for flavor in flavors]}


def decode_flavors(answer: Mapping[str, Any]) -> list[Flavor]:
    return [decode_flavor(row) for row in _rows(answer.get("flavors"), "flavors")]


def encode_engines(engines: Collection[Engine]) -> dict[str, Any]:
    rows = [{"engine_id": one.version, "engine_name": ENGINE_NAME, "engine_version": one.version,
             "v1_compatible": one.v1, "run_user": "1102"} for one in engines]  # fmt: skip
    return {"total": len(rows), "items": rows}


def decode_engines(answer: Mapping[str, Any]) -> list[Engine]:
    return [
        Engine(
            _text(row.get("engine_version") or row.get("engine_id"), "engine_version"), bool(row.get("v1_compatible"))
        )
        for row in _rows(answer.get("items"), "items")
    ]


def encode_events(events: Iterable[Event]) -> dict[str, Any]:
    rows = [{"message": one.message, "time": str(one.time), "level": "Info", "source": "jumar"} for one in events]
    return {"total": len(rows), "count": len(rows), "limit": len(rows), "offset": 0, "order": "asc", "events": rows}


def encode_log(end: LogEnd) -> dict[str, Any]:
    return {"content": end.text, "current_size": len(end.text.encode()), "full_size": end.size}


def decode_log(answer: Mapping[str, Any]) -> LogEnd:
    # Before 2022 it was called `context`.
    text = str(answer.get("content") or answer.get("context") or "")
    return LogEnd(text, _whole(answer.get("full_size") or 0, "full_size"))


def _encode_channel(channel: Channel) -> dict[str, Any]:
    row = {
        "name": channel.name,
        "access_method": str(channel.access),
        "remote": {"obs": {"obs_url": _url(channel.place)}},
    }
    return {**row, "local_dir": channel.local} if channel.local else row


def _channels(value: object, what: str) -> tuple[Channel, ...]:
    return tuple(_channel(row, what) for row in _rows(value, f"algorithm.{what}"))


def _channel(row: Mapping[str, Any], what: str) -> Channel:
    remote = _table(row.get("remote"), f"{what}.remote")
    place = _place(_table(remote.get("obs"), f"{what}.remote.obs").get("obs_url"), f"{what}.remote.obs.obs_url")
    if place is None:
        raise Refused(Fault.BAD_REQUEST, f"one of `{what}` has no `remote.obs.obs_url`")
    method = row.get("access_method") or Access.PARAMETER
    if method not in list(Access):
        raise Refused(Fault.BAD_REQUEST, f"`{what}.access_method` is `parameter` or `env`")
    return Channel(_text(row.get("name"), f"{what}.name"), place, Access(method), _text(row.get("local_dir"), what))


def _url(place: Remote | None) -> str:
    return address.platform_form(place) if place is not None else ""


def _place(value: object, what: str) -> Remote | None:
    text = _text(value, what)
    if not text:
        return None
    if not text.startswith("/"):
        raise Refused(Fault.BAD_REQUEST, f"`{what}` is not `/bucket/folder/`: {text}")
    try:
        return address.remote(f"obs:/{text}")
    except UserError as error:
        raise Refused(Fault.BAD_REQUEST, f"`{what}`: {error}") from None


def _boot(code: Remote | None, boot: Remote | None) -> str:
    if code is None or boot is None:
        return ""
    if (boot.bucket, boot.key[: len(code.folder_key)]) != (code.bucket, code.folder_key):
        raise Refused(Fault.NO_ALGORITHM, "the boot file is not in the code folder")
    return boot.key[len(code.folder_key) :]


def _hours(row: Mapping[str, Any]) -> float | None:
    if not row.get("duration"):
        return None
    unit, duration = _text(row.get("time_unit"), "spec.auto_stop.time_unit") or "HOURS", row["duration"]
    is_number = isinstance(duration, (int, float)) and not isinstance(duration, bool)
    if unit not in _HOURS or not is_number or not 0 < duration <= MOST_HOURS:
        raise Refused(Fault.BAD_REQUEST, "`spec.auto_stop` is a number of `HOURS` or `MINUTES`")
    return float(duration) * _HOURS[unit]


def _table(value: object, what: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise Refused(Fault.BAD_REQUEST, f"`{what}` is not an object")
    return value


def _rows(value: object, what: str) -> list[Mapping[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise Refused(Fault.BAD_REQUEST, f"`{what}` is not a list")
    return [_table(row, what) for row in value]


def _text(value: object, what: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise Refused(Fault.BAD_REQUEST, f"`{what}` is not a string")
    return str(value)


def _whole(value: object, what: str) -> int:
    is_whole = isinstance(value, (int, str)) and not isinstance(value, bool)
    if not is_whole or not re.fullmatch(r"-?[0-9]{1,18}", str(value)):
        raise Refused(Fault.BAD_REQUEST, f"`{what}` is not a whole number")
    return int(str(value))
