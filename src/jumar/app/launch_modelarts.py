"""What `jumar launch --on modelarts` asks for, in the words of `jumar cloud submit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jumar.app.cloud_jobs import SubmitRequest
from jumar.app.launch import LaunchRequest, settings
from jumar.core.errors import UserError

SETTINGS = {
    "target": "`local` (the default), `huaweicloud`, or one of `jumar.toml`",
    "code": "code folder; default: the script's own",
    "data": "`[NAME=]FOLDER` or an obs:// address",
    "bucket": "bucket for code, data and results",
    "engine": "engine version",
    "flavor": "flavour id",
    "auto_stop": "hours after which the job stops automatically",
    "contract": "`v2` or `v1`",
    "python": "interpreter of a job on this machine",
    "on": "`cpu`: a MindSpore job on this machine runs on MindSpore's CPU target",
}
"""What `--set` takes here; several inputs and variables stand in `[cloud]` of `jumar.toml`."""
USUAL_NAME = "train"


def told(request: LaunchRequest) -> dict[str, str]:
    """The settings for ModelArts, checked."""
    from jumar.launch.submission import check_settings

    found = settings(request.settings)
    check_settings(found, SETTINGS, "ModelArts")
    return found


def said(request: LaunchRequest, told: Mapping[str, str]) -> SubmitRequest:
    """What `jumar cloud submit` would have been told."""
    cards, nodes, words = request.cards or "", request.nodes or "1", request.words
    if cards and not cards.isdecimal():
        raise UserError(f"`--cards {cards}`: the platform chooses the cards", "say how many: `--cards 8`")
    if not nodes.isdecimal():
        raise UserError("`--nodes` with `--on modelarts` takes a number of machines", "write it as `--nodes 2`")
    found: dict[str, Any] = {name: told.get(name) for name in ("code", "bucket", "engine", "flavor", "python", "on")}
    found |= {"devices": int(cards or 0), "nodes": int(nodes), "contract": _contract(told)}
    found |= {"data": (told["data"],) if "data" in told else (), "auto_stop": _hours(told)}
    found["name"] = request.name if request.name != USUAL_NAME else ""
    if words:
        script = Path(words[0])
        if words[0].startswith("-") or script.suffix != ".py":
            raise UserError(f"ModelArts starts a Python script, not `{words[0]}`", "name it: `code/train.py`")
        code = Path(told.get("code") or script.parent)
        if not script.absolute().is_relative_to(code.absolute()):
            raise UserError(f"`{script}` is not in the code folder `{code}`", "`--set code=FOLDER` names another one")
        found |= {"code": str(code), "boot": script.absolute().relative_to(code.absolute()).as_posix()}
        found["param"] = _parameters(words[1:])
    return SubmitRequest(**found)


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
