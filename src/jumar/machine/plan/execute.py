"""Carries a plan out, step by step: skips what is done, logs, and stops at the first failure with what to undo."""

from __future__ import annotations

import grp
import os
import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from jumar.core.compat import zip
from jumar.core.errors import UserError, reason
from jumar.machine.plan.build import Plan
from jumar.machine.plan.prelude import FUNCTIONS, NAMES, assignments
from jumar.machine.plan.step import InstallStep
from jumar.machine.plan.steps import GROUP
from jumar.runtime import process

SAID = 3
AWAKE = 50.0
"""Seconds between two looks at sudo, which forgets a password after a few minutes."""
Tell = Callable[[int, int, str, str], None]
"""Called with number, count, title and `running`, `done`, `skipped` or `failed`."""


def run(made: Plan, log: Path, tell: Tell) -> None:
    """All steps in order; a step that is done already is skipped, so a second run goes on where the first stopped."""
    values = _variables(made)
    count = len(made.steps)
    with _root(any(step.root for step in made.steps)):
        _all(made, values, count, log, tell)


def _all(made: Plan, values: dict[str, str], count: int, log: Path, tell: Tell) -> None:
    for number, step in enumerate(made.steps, 1):
        if _call(step, step.done, values, Path(os.devnull)) == 0:
            tell(number, count, step.title, "skipped")
            continue
        tell(number, count, step.title, "running")
        failed = _call(step, step.do, values, log) != 0
        if failed or _call(step, step.done, values, log) != 0:
            tell(number, count, step.title, "failed")
            raise _stopped(number, count, step, log, failed)
        tell(number, count, step.title, "done")


@contextmanager
def _root(needed: bool) -> Iterator[None]:
    """See that sudo works before anything is changed; it may ask once, and is kept awake until the end."""
    if not needed or os.geteuid() == 0 or _sudo("-n", "true"):
        yield
        return
    if not (sys.stdin.isatty() and process.call(["sudo", "-v"]) == 0):
        raise UserError(
            "steps of this plan need root, and sudo does not work without a password here",
            "run it in a terminal or as root, or use `--no-root`; nothing was changed",
        )
    ended = threading.Event()
    keeper = threading.Thread(target=_keep_awake, args=(ended,), daemon=True)
    keeper.start()
    try:
        yield
    finally:
        ended.set()
        keeper.join()


def _keep_awake(ended: threading.Event) -> None:
    while not ended.wait(AWAKE) and _sudo("-n", "-v"):
        pass


def _sudo(*words: str) -> bool:
    try:
        return process.run(["sudo", *words], timeout=AWAKE).code == 0
    except (process.NotStarted, process.Late):
        return False


def _variables(made: Plan) -> dict[str, str]:
    """The variables as a script would see them, worked out by bash itself."""
    lines = assignments(made.places)
    shown = "; ".join(f'printf "%s\\0" "${name}"' for name in NAMES)
    done = process.run(["bash", "-c", f"{lines}\n{shown}"])
    found = done.out.split("\0")[: len(NAMES)]
    if done.code != 0 or len(found) != len(NAMES):
        raise UserError("cannot determine the paths of the plan", done.err.strip() or "is bash installed?")
    return dict(zip(NAMES, found, strict=True))


def command(step: InstallStep, code: str, values: dict[str, str]) -> list[str]:
    """The words that run a piece of bash as root or as the user of the plan; sudo asked before."""
    script = f"umask 0022\n{FUNCTIONS}\nset -eo pipefail\n{code}"
    words = ["env", *(f"{name}={value}" for name, value in values.items()), "bash", "-c", script]
    root = os.geteuid() == 0
    if step.root and not root:
        return ["sudo", "-n", *words]
    if not step.root and root and values["PLAN_USER"] != "root":
        return ["sudo", "-n", "-u", values["PLAN_USER"], "-H", *words]
    if not step.root and not root and _joined(values["PLAN_USER"]):
        return ["sg", GROUP, "-c", shlex.join(words)]
    return words


def _joined(user: str) -> bool:
    """Is the user in the driver's group, but this session not yet? A session has the groups of its login."""
    try:
        group = grp.getgrnam(GROUP)
    except KeyError:
        return False
    return user in group.gr_mem and group.gr_gid not in os.getgroups()


def _call(step: InstallStep, code: str, values: dict[str, str], log: Path) -> int:
    try:
        with log.open("ab") as file:
            file.write(f"== {step.id}\n".encode())
            file.flush()
            return process.call(command(step, code, values), stdin=process.DEVNULL, stdout=file, stderr=file)
    except (OSError, process.NotStarted) as error:
        raise UserError(f"cannot run step `{step.id}`: {reason(error)}", "`--print` shows what it would do") from error


def _stopped(number: int, count: int, step: InstallStep, log: Path, failed: bool) -> UserError:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line and not line.startswith("== ")]
    said = " / ".join(lines[-SAID:]) or "no message"
    why = said if failed else f"it ended without an error, but its check fails: {said}"
    return UserError(
        f"step {number} of {count} failed: {step.title}: {why}",
        f"undo it with: {step.undo}; the log is `{log}`; the same command continues at this step",
    )
