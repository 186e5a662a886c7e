"""Version 1 of ModelArts' training interface as JSON, for old regions.

opentelekomcloud-docs/modelarts@1ba1873, historical_apis/training_management_old_version, read 2026-11-16. Jobs have
numbers and versions there: `10-12` stands for version 12 of job 10. There are no environment variables, no `auto_stop`,
and one input; further ones become arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jumar.cloud import address
from jumar.cloud.address import Remote
from jumar.cloud.job import Channel, Engine, Flavor, Job, JobSpec, State
from jumar.core.errors import UserError

STATES = {
    **dict.fromkeys(("0", "1", "2", "4", "18", "19", "20"), State.CREATING),
    **dict.fromkeys(("3", "5", "6", "11", "16", "17", "21"), State.FAILED),
    **dict.fromkeys(("8", "15"), State.RUNNING),
    **dict.fromkeys(("12", "13"), State.TERMINATED),
    "7": State.PENDING,
    "9": State.TERMINATING,
    "10": State.COMPLETED,
    "14": State.ABNORMAL,
}
DATA, RESULTS = "data_url", "train_url"


def encode_spec(spec: JobSpec, flavor: Flavor, engine: Engine) -> dict[str, Any]:
    """The body that asks for a job; flavour and engine are numbers there."""
    if spec.environment:
        raise UserError("version 1 of the interface has no environment variables", "leave `--env` out")
    assert spec.code is not None
    results = next(channel.place for channel in spec.outputs if channel.name == RESULTS)
    rows = [{"label": name, "value": value} for name, value in spec.parameters]
    rows += [{"label": one.name, "value": _s3(one.place)} for one in spec.inputs if one.name != DATA]
    config: dict[str, Any] = {
        "worker_server_num": spec.nodes,
        "app_url": address.platform_form(spec.code),
        "boot_file_url": address.platform_form(spec.code.child(spec.boot)),
        "parameter": rows,
        "spec_id": flavor.number,
        "engine_id": engine.number,
        "train_url": address.platform_form(results),
    }
    if spec.log is not None:
        config["log_url"] = address.platform_form(spec.log)
    for channel in spec.inputs:
        if channel.name == DATA:
            config[DATA] = address.platform_form(channel.place)
    return {"job_name": spec.name, "job_desc": spec.description, "config": config}


def decode_job(row: Mapping[str, Any]) -> Job:
    """A job from its own page or from a row of a list, which tells less."""
    code, boot = _place(row.get("app_url")), _place(row.get("boot_file_url"))
    channels = {name: _place(row.get(name)) for name in (DATA, RESULTS)}
    found = {name: (Channel(name, place),) if place else () for name, place in channels.items()}
    spec = JobSpec(
        name=str(row.get("job_name") or ""),
        code=code,
        boot=boot.key.removeprefix(code.folder_key) if code and boot else "",
        nodes=int(row.get("worker_server_num") or 1),
        parameters=tuple((str(one["label"]), str(one["value"])) for one in row.get("parameter") or ()),
        inputs=found[DATA],
        outputs=found[RESULTS],
        log=_place(row.get("log_url")),
        description=str(row.get("job_desc") or ""),
    )
    duration = row.get("duration")
    return Job(
        id=job_id(row),
        spec=spec,
        state=STATES.get(str(row.get("status")), State.ABNORMAL),
        created=int(row.get("create_time") or 0),
        duration=int(duration) if duration is not None else None,
    )


def job_id(row: Mapping[str, Any]) -> str:
    return f"{row['job_id']}-{row['version_id']}"


def decode_flavor(row: Mapping[str, Any], devices: int) -> Flavor:
    """Version 1 does not say how many devices a flavour has."""
    return Flavor(str(row["spec_code"]), devices, int(row.get("max_num") or 0), number=int(row["spec_id"]))


def decode_engine(row: Mapping[str, Any]) -> Engine:
    return Engine(str(row["engine_version"]), True, int(row["engine_id"]))


def _s3(place: Remote) -> str:
    return f"s3://{place.bucket}/{place.key}"


def _place(value: object) -> Remote | None:
    return address.remote(f"obs:/{value}") if value else None
