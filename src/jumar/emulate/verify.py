"""Runs a command on the emulated machine and turns what happened into findings."""

from __future__ import annotations

import re
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from jumar.core import printable
from jumar.core.compat import pairwise
from jumar.core.finding import Finding, Level, State, Where
from jumar.core.held import Held
from jumar.core.words import counted
from jumar.emulate import command as commands
from jumar.emulate.operators import Operator
from jumar.runtime import cage, compiled, process, refusals, variables
from jumar.runtime.refusals import Kind, Refusal

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
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_BEGIN = "Traceback (most recent call last)"


class Trace(NamedTuple):
    """The parts of a traceback that matter here."""

    error: str
    """Its last line."""
    site: tuple[str, int] | None
    """The innermost frame inside the project."""
    said: str
    """The error with all that follows it."""


class Outcome(NamedTuple):
    code: int
    seconds: float
    error: str
    """The last line of the traceback, if there was one."""
    site: tuple[str, int] | None
    """File and line of the failed call inside the project."""
    refused: Refusal | None
    """What the emulator refused, if that was the reason."""
    operators: tuple[Operator, ...]
    held: Held = Held("nothing")


def run(
    words: Sequence[str], folder: Path, environ: Mapping[str, str], place: Path, read: Sequence[str], *, sandbox: bool
) -> Outcome:
    """Run the command in `folder`; its output goes to stderr, as ours belongs on stdout. `place` is for our files."""
    from jumar.emulate.glue import record

    notes = place / "notes"
    notes.mkdir()
    counted_in, noted = notes / "operators.json", notes / "refusals"
    request = commands.RunRequest(ops=counted_in)
    allowed = cage.environment(environ) if sandbox else dict(environ)
    built = commands.build(words, request, {**allowed, variables.EMULATE.name: "1"}, folder)
    commands.prepare(built, request)
    values = {**allowed, **built.variables, variables.REFUSAL_FILE.name: str(noted)}
    world = _cage(folder, notes, values, read) if sandbox else None
    started = time.monotonic()
    with cage.launch(
        world, built.argv, environ=values, cwd=str(folder.resolve()), stdout=process.PIPE, stderr=process.STDOUT
    ) as running:
        last = _show(running.launcher)
        code = running.wait()
    seconds = time.monotonic() - started
    texts = [_text(path, running.files.get(str(path), b"") if sandbox else None) for path in (counted_in, noted)]
    end = last_traceback(last, folder)
    refused = reason(refusals.parse(texts[1]), end)
    operators = _operators(record, texts[0])
    return Outcome(-9 if code is None else code, seconds, end.error, end.site, refused, operators, running.held)


def _cage(folder: Path, notes: Path, values: Mapping[str, str], read: Sequence[str]) -> cage.Cage:
    own = {"HOME": cage.HOME, "TMPDIR": "/tmp", variables.CACHE.name: str(compiled.cache_dir())}
    return cage.Cage(
        copies=(str(folder.resolve()), str(notes)), read=tuple(read), environ={**values, **own},
        cwd=str(folder.resolve()), collect=(str(notes / "operators.json"), str(notes / "refusals")),
        limits=cage.Limits(memory=1 << 40, seconds=1 << 30),
    )  # fmt: skip


def _text(path: Path, collected: bytes | None) -> str:
    """What the program noted, as the sandbox handed it out; without one, from the file."""
    data = collected if collected is not None else path.read_bytes() if path.exists() else b""
    return data.decode(errors="replace")


def _operators(record: ModuleType, text: str) -> tuple[Operator, ...]:
    """The operators that the program says it ran; none if what it wrote is not such a list."""
    try:
        return tuple(record.parse(text, ".json"))
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()


def findings(outcome: Outcome, folder: Path, place: Callable[[str, int], Where]) -> list[Finding]:
    """The findings; `place` maps a line of the migrated project to the user's file."""
    found = [_fallback(item, _where(item.site, folder, place)) for item in outcome.operators if item.how == "fallback"]
    if outcome.code != 0:
        return [*found, _failure(outcome, place(*outcome.site) if outcome.site else None)]
    if not outcome.operators:
        message = "the command finished, but no operator ran on a card"
        fix = "check how the program chooses its device: is it still `cuda` or `cpu`?"
        return [_finding("EM105", Level.WARNING, message, None, fix, State.HAND, "")]
    calls = sum(item.calls for item in outcome.operators)
    kinds = len({item.name for item in outcome.operators})
    counts = f"{counted(kinds, 'operator')}, {counted(calls, 'call')}"
    message = f"the command finished on the emulator in {outcome.seconds:.1f} s: {counts}"
    return [*found, _finding("EM101", Level.NOTE, message, None, None, None, "")]


def last_traceback(lines: Sequence[str], folder: Path) -> Trace:
    """The last traceback with a frame inside `folder`, else the last one, with those that it was raised from."""
    found = _tracebacks([_RANK.sub("", line.rstrip("\n")) for line in lines], folder)
    return next((trace for trace in reversed(found) if trace.site), found[-1] if found else Trace("", None, ""))


def reason(noted: Sequence[Refusal], end: Trace) -> Refusal | None:
    """Which refusal ended the command: the first that its error names.

    Programs go on after some refusals, so the record alone does not tell. Without a traceback, it is the last operator.
    """
    refused = [item for item in noted if item.kind is not Kind.FALLBACK]
    if not end.error:
        return next((item for item in reversed(refused) if item.kind is not Kind.FUNCTION), None)
    places = {item: found.start() for item in refused if (found := _named(item.name).search(end.said))}
    return min(places, key=places.__getitem__, default=None)


def _named(name: str) -> re.Pattern[str]:
    """The name in an error, where torch_npu may leave out the namespace and call the first half of an operator."""
    return re.compile(rf"(?<!\w){re.escape(name.removeprefix('npu::'))}(?:GetWorkspaceSize)?(?!\w)")


def _tracebacks(lines: Sequence[str], folder: Path) -> list[Trace]:
    """All of them; one that was raised from another takes the words of that one, too."""
    starts = [at for at, line in enumerate(lines) if line.startswith(_BEGIN)]
    found: list[Trace] = []
    for start, end in pairwise([*starts, len(lines)]):
        trace = _trace(lines[start + 1 : end], folder)
        if found and any(line.startswith(_CHAINED) for line in lines[max(start - 3, 0) : start]):
            cause = found.pop()
            trace = trace._replace(site=trace.site or cause.site, said=f"{trace.said}\n{cause.said}")
        found.append(trace)
    return found


def _trace(lines: Sequence[str], folder: Path) -> Trace:
    site = None
    for at, line in enumerate(lines):
        frame = _FRAME.match(line)
        if frame:
            inside = relative(frame[1], folder)
            site = (inside, int(frame[2])) if inside else site
        elif line and not line.startswith((" ", "\t")):
            return Trace(line, site, "\n".join(lines[at:]))
    return Trace("", site, "")


def relative(name: str, folder: Path) -> str | None:
    """A file of the project by its path inside; None for files elsewhere."""
    path = folder / name
    top = folder.resolve()
    if "site-packages" in path.parts or not path.exists() or top not in path.resolve().parents:
        return None
    return path.resolve().relative_to(top).as_posix()


def _show(running: process.Process) -> list[str]:
    """Pass on what the command prints; its last lines."""
    kept: deque[str] = deque(maxlen=_KEPT)
    assert running.stdout is not None
    for raw in running.stdout:
        line = raw.decode(errors="replace")
        sys.stderr.write(printable.of_program(line))
        kept.append(line)
    return list(kept)


def _failure(outcome: Outcome, where: Where | None) -> Finding:
    if outcome.refused:
        name = outcome.refused.name
        limit = " with these arguments" if outcome.refused.kind is Kind.ARGUMENTS else ""
        message = f"`{name}` is not emulated{limit}; the command ended there with exit code {outcome.code}"
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
