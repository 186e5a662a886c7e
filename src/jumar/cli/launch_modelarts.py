"""`jumar launch --on modelarts`: the same path as `jumar cloud submit`, asked for in the words of `jumar launch`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from jumar.cli.cloud_log import echo_log
from jumar.cli.cloud_place import opened_place
from jumar.cli.cloud_submit import build, send, show_plan
from jumar.cli.launching import settings
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK, UserError

SETTINGS = {
    "target": "`local` (the default), `huaweicloud`, or one of `jumar.toml`",
    "code": "code folder; the script's own if it is not given",
    "data": "`[NAME=]FOLDER` or an obs:// address",
    "bucket": "bucket for code, data and results",
    "engine": "engine version",
    "flavor": "flavour id",
    "auto_stop": "hours after which the job ends by itself",
    "contract": "`v2` or `v1`",
    "python": "interpreter of a job on this machine",
    "on": "`cpu`: a MindSpore job on this machine runs on MindSpore's CPU target",
}
"""What `--set` takes here; several inputs and variables stand in `[cloud]` of `jumar.toml`."""
USUAL_NAME = "train"


def start(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Send the job, or with `--print` show all of it."""
    told = _told(options)
    said = _said(words, options, told)
    with opened_place(told.get("target")) as place:
        plan = build(place, said)
        if options["only_print"]:
            show_plan(plan, False)
            return EXIT_FINDINGS if plan.leaks else EXIT_OK
        made = send(place, plan, allow_secrets=False, quiet=False)
        click.echo(made.id)
        click.echo(f"jumar: job {made.id} ({made.spec.name}) is on {place.target.name};"
                   f" `jumar cloud logs -f` follows it, and `jumar cloud pull -o FOLDER` fetches its results",
                   err=True)  # fmt: skip
    return EXIT_OK


def ask(asked: Mapping[str, str | None], options: Mapping[str, Any]) -> int:
    """State or log of a job, or the end of it."""
    with opened_place(_told(options).get("target")) as place:
        for word, which in asked.items():
            if not which:
                continue
            id_ = place.find(which)
            if word == "status":
                click.echo(place.platform().get(id_).state)
            elif word == "log":
                echo_log(place.platform().logs(id_).text, False)
            else:
                place.platform().stop(id_)
                click.echo(f"job {id_} is being ended")
    return EXIT_OK


def _told(options: Mapping[str, Any]) -> dict[str, str]:
    from jumar.launch.submission import check_settings

    told = settings(options["settings"])
    check_settings(told, SETTINGS, "ModelArts")
    return told


def _said(words: Sequence[str], options: Mapping[str, Any], told: Mapping[str, str]) -> dict[str, Any]:
    """What `jumar cloud submit` would have been told."""
    cards, nodes = str(options["cards"] or ""), str(options["nodes"] or "1")
    if cards and not cards.isdecimal():
        raise UserError(f"`--cards {cards}`: the platform chooses the cards", "say how many: `--cards 8`")
    if not nodes.isdecimal():
        raise UserError("`--nodes` with `--on modelarts` is how many machines", "write it as `--nodes 2`")
    said: dict[str, Any] = {name: told.get(name) for name in ("code", "bucket", "engine", "flavor", "python", "on")}
    said |= {"devices": int(cards or 0), "nodes": int(nodes), "contract": _contract(told)}
    said |= {"data": (told["data"],) if "data" in told else (), "auto_stop": _hours(told)}
    said["name"] = options["name"] if options["name"] != USUAL_NAME else ""
    if words:
        script = Path(words[0])
        if words[0].startswith("-") or script.suffix != ".py":
            raise UserError(f"ModelArts starts a Python script, not `{words[0]}`", "name it: `code/train.py`")
        code = Path(told.get("code") or script.parent)
        if not script.absolute().is_relative_to(code.absolute()):
            raise UserError(f"`{script}` is not in the code folder `{code}`", "`--set code=FOLDER` names another one")
        said |= {"code": str(code), "boot": script.absolute().relative_to(code.absolute()).as_posix()}
        said["param"] = _parameters(words[1:])
    return said


def _parameters(words: Sequence[str]) -> tuple[str, ...]:
    """`--lr 0.1` and `--lr=0.1` as the platform takes them: names with values, and nothing else."""
    found: list[str] = []
    rest = list(words)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if not name.startswith("--") or (not equals and (not rest or rest[0].startswith("--"))):
            raise UserError(
                f"ModelArts cannot pass `{name}` to the script: only `--NAME VALUE`",
                "give it a value, or put it into the script's defaults",
            )
        found.append(f"{name[2:]}={value if equals else rest.pop(0)}")
    return tuple(found)


def _contract(told: Mapping[str, str]) -> str | None:
    if told.get("contract") not in (None, "v1", "v2"):
        raise UserError(f"`--set contract={told['contract']}` is not known", "`v1` or `v2`")
    return told.get("contract")


def _hours(told: Mapping[str, str]) -> float:
    try:
        return float(told.get("auto_stop") or 0)
    except ValueError:
        raise UserError(f"`--set auto_stop={told['auto_stop']}` is not a number of hours") from None
