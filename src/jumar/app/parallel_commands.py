"""The commands that write a plan's program, prove it and start it: every choice of the plan is fixed in them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jumar.app.parallel import ParallelRequest
    from jumar.parallel.search import Found

_PLAN = ("dp", "tp", "pp", "ep", "cp", "micro_batches", "shard", "recompute", "schedule", "sequence", "offload")
_ELSEWHERE = {"model", "top", "prove", "prove_layers", "prove_limit", "equal_stages", "layers", "unproved", *_PLAN}


def commands(
    request: ParallelRequest, found: Found, launch: str, *, torch: bool, traced: bool
) -> list[tuple[str, str]]:
    """What to do with each, and the command."""
    plan = shlex.join(["jumar", "parallel", request.model, *_asked(request), *_fixed(found)])
    code = "torch" if torch else "mindspore" if traced else "network"
    return [("write it", f"{plan} --code {code} > train.py"), ("prove it", f"{plan} --prove 1"), ("start it", launch)]


def _asked(request: ParallelRequest) -> list[str]:
    """What the user asked for, the plan aside."""
    words: list[str] = []
    for field in fields(request):
        value = getattr(request, field.name)
        if field.name in _ELSEWHERE or value == field.default or value is None:
            continue
        if isinstance(value, Mapping):
            words += [word for name, number in value.items() for word in ("--set", f"{name}={number:g}")]
        else:
            words += [_option(field.name), str(value)]
    return words


def _fixed(found: Found) -> list[str]:
    """The plan, and the layers of each stage; what a plan does not have is left out."""
    plan: dict[str, Any] = found.plan._asdict()
    words: list[str] = []
    for name in _PLAN:
        value = plan[name]
        if isinstance(value, bool):
            words += [_option(name)] if value else [] if name == "offload" else [_option(f"no_{name}")]
        elif value != 1 or name not in ("ep", "cp"):
            words += [_option(name), str(value)]
    return [*words, "--layers", ",".join(map(str, found.layers))] if found.plan.pp > 1 else words


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
