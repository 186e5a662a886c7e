"""Runs one attempt in the cage, as whoever starts this script, and prints what came of it as JSON.

usage: attempt.py SPEC.json
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from jumar.runtime import cage, process

_MIB = 1 << 20


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        spec: dict[str, Any] = json.load(file)
    project = spec["project"]
    world = cage.Cage(
        copies=(project,), environ=cage.environment(os.environ), cwd=project, collect=(f"{project}/result",),
        limits=cage.Limits(
            memory=512 * _MIB, all_memory=1024 * _MIB, space=256 * _MIB, file=1024 * _MIB, processes=400, seconds=60
        ),
    )  # fmt: skip
    started = time.monotonic()
    words = [sys.executable, "-c", spec["code"]]
    with cage.start(world, words, stdout=process.PIPE, stderr=process.STDOUT, by=spec["by"]) as running:
        code = running.wait(spec["seconds"])
        assert running.launcher.stdout is not None
        os.set_blocking(running.launcher.stdout.fileno(), False)
        output = running.launcher.stdout.read(1 << 16) or b""
    print(
        json.dumps(
            {
                "code": code,
                "output": output.decode(errors="replace"),
                "files": {path: data[:200].decode(errors="replace") for path, data in running.files.items()},
                "held": running.held._asdict(),
                "launcher": running.launcher.pid,
                "seconds": time.monotonic() - started,
            }
        )
    )


main()
