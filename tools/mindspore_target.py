"""The variables of a process of MindSpore's interpreter, on the emulated machine or on MindSpore's CPU target."""

from __future__ import annotations

import os

from jumar.emulate import env, mindspore, prefix


def variables(python: str, target: str, machine: str) -> dict[str, str]:
    """`machine` names the emulated one, which each run of a tool has for itself."""
    own = {"JUMAR_MACHINE": f"{machine}-{os.getpid()}", "GLOG_v": "3", "OMP_NUM_THREADS": "1"}
    found = mindspore.check(python)
    if target == "CPU":
        return {**mindspore.on_cpu(os.environ, python), **own}
    added = mindspore.emulated(env.environment(base=os.environ), os.environ, python, found.mindspore)
    prefix.prepare(added)
    return {**added, **own, "JUMAR_ANNOUNCED": "1"}
