"""Runs as each rank's first program: variables, cores and log file of this rank, then it becomes the user's program.

A program of its own file and of the standard library only: started with `-I -S`, so that nothing in the user's folder
or environment can get in its way.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

PR_SET_PDEATHSIG = 1


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as file:
        spec = json.load(file)
    parent = int(sys.argv[2])
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return 1
    values = variables(spec, os.environ)
    _redirect(spec, values)
    cores = spec["cores"][int(values["LOCAL_RANK"])] if spec["cores"] else []
    if cores:
        os.sched_setaffinity(0, cores)
    try:
        os.execvpe(spec["argv"][0], spec["argv"], values)
    except OSError as error:
        sys.stderr.write(f"cannot start `{spec['argv'][0]}`: {error.strerror}\n")
        return 127


def variables(spec: Mapping[str, Any], inherited: Mapping[str, str]) -> dict[str, str]:
    """The environment of this rank: what torch elastic set, the job's own values, and MindSpore's names for them."""
    values = {key: value for key, value in inherited.items() if key not in spec["unset"]}
    values.update(spec["variables"])
    local = int(values["LOCAL_RANK"])
    values.update(RANK_ID=values["RANK"], RANK_SIZE=values["WORLD_SIZE"], DEVICE_ID=str(spec["device_ids"][local]))
    return values


def _redirect(spec: Mapping[str, Any], values: Mapping[str, str]) -> None:
    path = os.path.join(spec["logs"], f"rank_{values['RANK']}.log")
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    attempt = values.get("TORCHELASTIC_RESTART_COUNT", "0")
    if attempt != "0":
        os.write(log, f"jumar: restart {attempt} of {spec['restarts']}\n".encode())
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


if __name__ == "__main__":
    sys.exit(main())
