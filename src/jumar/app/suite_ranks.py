"""A test marked `npu_distributed(n)`: its body runs in n processes, each with a card, and they are one result."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from jumar.runtime import process

_GRACE = 5.0
"""Seconds that the other ranks get when one has failed: they may be about to fail for the same reason."""
_TICK = 0.05
_TAIL = 60
"""Lines of output shown of a rank that died without a result."""


class Told(NamedTuple):
    """What a rank says about its test."""

    outcome: str
    """`passed`, `failed` or `skipped`."""
    text: str = ""
    """The traceback, or the reason for skipping."""
    used: bool = False
    """Whether it used a card."""


class Outcome(NamedTuple):
    """All ranks together: the worst of them, and what they said."""

    outcome: str
    text: str
    used: bool


def write(path: Path, told: Told) -> None:
    """In a rank: leave the result for the process that started it."""
    path.write_text(json.dumps(told._asdict()), encoding="utf-8")


def run(words: Sequence[str], count: int, seconds: float, folder: Path, environ: Mapping[str, str]) -> Outcome:
    """Start the ranks with `words` and the file for their result, wait for them, and put their results together."""
    from jumar.launch import ports

    port = ports.free()
    shared = {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1",
              "MASTER_PORT": str(port)}  # fmt: skip
    with ExitStack() as files:
        running = []
        for rank in range(count):
            values = {**environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}
            argv = [*words, f"--npu-rank-file={folder / f'{rank}.json'}"]
            out = files.enter_context(open(folder / f"{rank}.log", "wb"))
            running.append(
                process.start(argv, env=values, stdout=out, stderr=process.STDOUT, dies_with_us=signal.SIGKILL)
            )
        late = _wait(running, seconds)
    told = [_told(folder, rank, one.returncode, late) for rank, one in enumerate(running)]
    return together(told)


def together(told: Sequence[Told]) -> Outcome:
    """Failed if one failed; skipped if all were."""
    used = any(one.used for one in told)
    failed = [(rank, one) for rank, one in enumerate(told) if one.outcome == "failed"]
    if failed:
        text = "\n".join(f"rank {rank} of {len(told)}:\n{one.text}" for rank, one in failed)
        return Outcome("failed", text, used)
    if all(one.outcome == "skipped" for one in told):
        return Outcome("skipped", told[0].text, used)
    return Outcome("passed", "", used)


def _wait(running: Sequence[process.Process], seconds: float) -> bool:
    """Until all have ended; whether they had to be stopped because time was up."""
    until = time.monotonic() + seconds
    failed = False
    while any(one.poll() is None for one in running):
        if not failed and any(one.poll() not in (None, 0) for one in running):
            failed, until = True, min(until, time.monotonic() + _GRACE)
        if time.monotonic() > until:
            process.end(running, _GRACE)
            return not failed
        time.sleep(_TICK)
    return False


def _told(folder: Path, rank: int, code: int | None, late: bool) -> Told:
    try:
        return Told(**json.loads((folder / f"{rank}.json").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        lines = (folder / f"{rank}.log").read_text(encoding="utf-8", errors="replace").splitlines()
    why = "was stopped: its time was up" if late else f"ended with exit code {code} and no result"
    return Told("failed", "\n".join([f"the rank {why}", *lines[-_TAIL:]]))


def command(node: str, options: Sequence[str]) -> list[str]:
    """A pytest that runs one test as a rank."""
    return [sys.executable, "-m", "pytest", node, *options, "--runxfail", "-p", "no:cacheprovider"]


def environment() -> dict[str, str]:
    """Of a rank: ours, without what tells xdist that it is a worker."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
