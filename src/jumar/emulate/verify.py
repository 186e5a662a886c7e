"""Runs a command on the emulated machine and says what really happened, as findings."""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jumar.core.finding import Finding, Level, State, Where
from jumar.emulate import command as commands
from jumar.emulate.operators import Operator
from jumar.runtime import process, variables

IDS = {
    "EM101": "verify-finished",
    "EM102": "operator-fallback",
    "EM103": "call-refused",
    "EM104": "command-failed",
    "EM105": "card-not-used",
    "EM106": "import-worse",
    "EM107": "test-worse",
}
"""Ids and names of the findings; their pages are in docs/findings/emulate.md."""
_KEPT = 400
_FRAME = re.compile(r'\s*File "(.+?)", line (\d+)')
_RANK = re.compile(r"^\[rank\d+\]:\s?")
_REFUSED = re.compile(r"`(\S+?)` is not emulated|(\S+) is not implemented by the emulator|(npu::\S+) exchanges data")


class Outcome(NamedTuple):
    code: int
    seconds: float
    error: str
    """The last line of the traceback, if there was one."""
    site: tuple[str, int] | None
    """File and line of the failed call inside the project."""
    refused: str
    """The function or operator that the emulator refused, if that was the reason."""
    operators: tuple[Operator, ...]


def run(words: Sequence[str], folder: Path, environ: Mapping[str, str]) -> Outcome:
    """Run the command in `folder`; its output goes to stderr, as ours belongs on stdout."""
    from jumar.emulate.glue import record

    with tempfile.TemporaryDirectory(prefix="jumar-verify-") as scratch:
        request = commands.RunRequest(ops=Path(scratch) / "operators.json")
        built = commands.build(words, request, {**environ, variables.EMULATE.name: "1"}, folder)
        commands.prepare(built, request)
        started = time.monotonic()
        code, last = _watch(built, folder, environ)
        text = (Path(scratch) / "operators.json").read_text(encoding="utf-8")
        operators = tuple(record.parse(text, ".json"))
    return Outcome(code, time.monotonic() - started, *last_traceback(last, folder), operators)


def findings(outcome: Outcome, folder: Path, place: Callable[[str, int], Where]) -> list[Finding]:
    """What to tell: `place` says where a line of the migrated project is for the user."""
    found = [_fallback(item, _where(item.site, folder, place)) for item in outcome.operators if item.how == "fallback"]
    if outcome.code != 0:
        return [*found, _failure(outcome, place(*outcome.site) if outcome.site else None)]
    if not outcome.operators:
        message = "the command finished, but no operator ran on a card"
        fix = "check how the program chooses its device: is it still `cuda` or `cpu`?"
        return [_finding("EM105", Level.WARNING, message, None, fix, State.HAND, "")]
    calls = sum(item.calls for item in outcome.operators)
    kinds = len({item.name for item in outcome.operators})
    message = f"the command finished on the emulator in {outcome.seconds:.1f} s: {kinds} operators, {calls:,} calls"
    return [*found, _finding("EM101", Level.NOTE, message, None, None, None, "")]


def last_traceback(lines: Sequence[str], folder: Path) -> tuple[str, tuple[str, int] | None, str]:
    """The error line of the last traceback, its innermost frame inside `folder`, and what was refused."""
    plain = [_RANK.sub("", line.rstrip("\n")) for line in lines]
    starts = [at for at, line in enumerate(plain) if line.startswith("Traceback (most recent call last)")]
    if not starts:
        return "", None, ""
    site, error = None, ""
    for line in plain[starts[-1] + 1 :]:
        frame = _FRAME.match(line)
        if frame:
            inside = relative(frame[1], folder)
            site = (inside, int(frame[2])) if inside else site
        elif line and not line.startswith((" ", "\t")):
            error = line
            break
    named = _REFUSED.search("\n".join(plain[starts[-1] :]))
    return error, site, next(group for group in named.groups() if group) if named else ""


def relative(name: str, folder: Path) -> str | None:
    """A file of the project by its path inside; None for files elsewhere."""
    path = folder / name
    top = folder.resolve()
    if "site-packages" in path.parts or not path.exists() or top not in path.resolve().parents:
        return None
    return path.resolve().relative_to(top).as_posix()


def _watch(built: commands.Command, folder: Path, environ: Mapping[str, str]) -> tuple[int, list[str]]:
    kept: deque[str] = deque(maxlen=_KEPT)
    running = process.start(
        built.argv, cwd=folder, env={**environ, **built.variables}, stdin=None, stdout=sys.stderr.fileno(),
        stderr=process.PIPE, own_session=False,
    )  # fmt: skip
    assert running.stderr is not None
    with running.stderr as lines:
        for raw in lines:
            line = raw.decode(errors="replace")
            sys.stderr.write(line)
            kept.append(line)
    return running.wait(), list(kept)


def _failure(outcome: Outcome, where: Where | None) -> Finding:
    if outcome.refused:
        name = outcome.refused.removesuffix("GetWorkspaceSize")
        message = f"`{name}` is not emulated; the command ended there with exit code {outcome.code}"
        return _finding("EM103", Level.ERROR, message, where, f"jumar emulate coverage {name}", State.UNSUPPORTED, name)
    message = f"the command ended with exit code {outcome.code}: {outcome.error or 'no traceback'}"
    return _finding("EM104", Level.ERROR, message, where, None, State.HAND, "")


def _fallback(item: Operator, where: Where | None) -> Finding:
    times = f"{item.calls:,} time{'' if item.calls == 1 else 's'}"
    message = f"`{item.name}` ({item.dtypes}) has no NPU kernel and ran on the CPU, {times}"
    return _finding("EM102", Level.WARNING, message, where, None, State.FALLBACK, item.name)


def _where(site: str, folder: Path, place: Callable[[str, int], Where]) -> Where | None:
    name, _, line = site.rpartition(":")
    inside = relative(name, folder) if name else None
    if inside is not None:
        return place(inside, int(line))
    return Where(name, int(line), 1, int(line), 1) if name else None


def _finding(
    id_: str, level: Level, message: str, where: Where | None, fix: str | None, state: State | None, subject: str
) -> Finding:
    return Finding(id_, level, message, where, fix, state=state, doc=IDS[id_], subject=subject)
