"""What `jumar cloud submit` and `jumar launch --on modelarts` share: a job built from the options, shown or sent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.app.cloud_place import Place
from jumar.cli.cloud_common import human, show
from jumar.cli.progress import Transfer
from jumar.core.errors import UserError

if TYPE_CHECKING:
    from jumar.cloud.job import Job
    from jumar.cloud.jobs import JobPlan


def build(place: Place, said: dict[str, Any]) -> JobPlan:
    """What the user said and what `jumar.toml` says, as a plan; nothing is changed anywhere."""
    from jumar.cloud import jobs

    table = place.config.table
    get: Callable[[str, Any], Any] = lambda key, default: said.get(key) or table.get(key) or default  # noqa: E731
    if not get("code", "") or not get("boot", ""):
        missing = "--code" if not get("code", "") else "--boot"
        raise UserError(f"missing `{missing}`", "`jumar cloud submit --code code --boot train.py --data data`")
    base = Path() if said.get("code") or place.config.path is None else place.config.path.parent
    data = get("data", ())
    wish = jobs.JobRequest(
        code=base / get("code", ""), boot=get("boot", ""), data=[data] if isinstance(data, str) else tuple(data),
        devices=get("devices", 1), bucket=get("bucket", "jumar-local" if place.target.is_local else ""),
        name=get("name", ""), parameters=tuple(get("param", ())), environments=tuple(get("env", ())),
        engine=get("engine", ""), flavor=get("flavor", ""), hours=get("auto_stop", 0),
        nodes=get("nodes", 1), v1=get("contract", place.target.api) == "v1", price=get("price", 0.0),
        new_bucket=place.target.is_local, python=_python(place, said.get("python")), on=_on(place, get("on", "")),
    )  # fmt: skip
    return jobs.build(wish, place.store, place.platform(), place.secrets())


def send(place: Place, plan: JobPlan, *, allow_secrets: bool, quiet: bool) -> Job:
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
        click.echo(machine.where, err=True)
    platform = place.platform(machine)
    with Transfer(quiet=quiet) as bar:
        made = jobs.submit(plan, place.store, platform, bar)
    place.remember(made.id)
    return made


def show_plan(plan: JobPlan, as_json: bool) -> None:
    import json

    uploads: list[dict[str, Any]] = [
        {"to": str(one.place), "files": one.files, "bytes": one.size, "unchanged": one.skipped} for one in plan.uploads
    ]
    leaks = [leak._asdict() for leak in plan.leaks]
    if as_json:
        show([{"body": plan.request, "uploads": uploads, "secrets": leaks, "cost": plan.cost}], [], True)
        return
    if plan.new_bucket:
        click.echo(f"make the bucket {plan.new_bucket}")
    for one in uploads:
        click.echo(f"upload {one['files']} files, {human(one['bytes'])} to {one['to']}; {one['unchanged']} unchanged")
    for leak in plan.leaks:
        click.echo(f"{leak.path}:{leak.line}: {leak.what}")
    if plan.spec.hours:
        bound = f"; costs at most {plan.cost:.2f}" if plan.cost is not None else ""
        click.echo(f"stops by itself after {plan.spec.hours:g} hours{bound}")
    else:
        click.echo("does not stop automatically: version 1 of the interface has no `auto_stop`")
    click.echo(json.dumps(plan.request, indent=2, ensure_ascii=False))


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


def _on(place: Place, said: str) -> str:
    """What MindSpore runs on, if not on emulated NPUs; a key of `jumar.toml` is for the stand-in alone."""
    if said not in ("", "cpu"):
        raise UserError(f"a job cannot run on `{said}`", "`cpu`, or leave `on` out: emulated NPUs")
    return said if place.target.is_local else ""
