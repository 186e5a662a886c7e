"""Runs one side of a proof: imports of all modules, or the project's tests, in the cage and within their limits.

The processes of the project say how they ended through a pipe, in rows of a known form. Nothing that they write to is
opened out here, and a row that does not fit counts for nothing.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jumar.core.compat import dataclass
from jumar.core.held import Held
from jumar.emulate import command as commands
from jumar.emulate.glue import probe
from jumar.emulate.proof import modules
from jumar.emulate.proof.modules import Module
from jumar.emulate.proof.result import End, Outcome
from jumar.runtime import cage, compiled, process, variables
from jumar.runtime.cage import Cage

_HERE = Path(__file__).parent
_TICK = 0.2
_USAGE, _NO_TESTS = 4, 5
"""Exit codes of pytest: it does not know an option, it found no test."""
_MOST = 128 << 20
"""Bytes of all rows of a run."""
_TAIL = 4000
"""Bytes of pytest's last words that are kept."""


@dataclass(frozen=True, slots=True)
class Limits:
    each: float = 60.0
    """Seconds for a module or a test."""
    whole: float = 900.0
    """Seconds for one side's modules, and as much for its tests."""


@dataclass(frozen=True, slots=True)
class Side:
    """A copy of the project with what is needed to run it."""

    top: Path
    limits: Limits
    cage: Cage | None
    """None after `--no-sandbox`."""
    environ: Mapping[str, str]
    held: Held


def side(top: Path, limits: Limits, environ: Mapping[str, str], read: Sequence[str], *, sandbox: bool) -> Side:
    """What runs the copy of a project at `top`. Raises `cage.Refused` where there is no sandbox and one is wanted."""
    home = cage.HOME if sandbox else str(top.parent / "home")
    values = environment(environ, home)
    if not sandbox:
        for name in ("home", "tmp"):
            (top.parent / name).mkdir(exist_ok=True)
        return Side(top, limits, None, {**values, "TMPDIR": str(top.parent / "tmp")}, Held("nothing"))
    world = Cage(
        copies=(str(top),), read=tuple(read), environ={**values, "TMPDIR": "/tmp"}, cwd=str(top),
        limits=cage.Limits(seconds=int(limits.whole) + 1),
    )  # fmt: skip
    with cage.start(world, ["true"]) as trial:
        trial.wait()
    return Side(top, limits, world, world.environ, trial.held)


def environment(environ: Mapping[str, str], home: str) -> dict[str, str]:
    """The variables of the emulated machine, and no other of the user's than `cage.ALLOWED`."""
    request = commands.RunRequest()
    allowed = cage.environment(environ)
    built = commands.announced(commands.build(["-c", "pass"], request, {**allowed, variables.EMULATE.name: "1"}))
    commands.prepare(built, request)
    if built.glue:
        probe.settings()  # Kept in the cache, which the sandbox cannot write.
    own = {
        variables.CACHE.name: str(compiled.cache_dir()), variables.QUIET.name: "1", "HOME": home,
        "MPLCONFIGDIR": f"{home}/matplotlib", "MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1",
        "HF_HUB_OFFLINE": "1", "WANDB_MODE": "disabled",
        # Without threads of its own, torch can be loaded once and forked for each module.
        "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    }  # fmt: skip
    return {**allowed, **built.variables, **own}


def import_all(side: Side, units: Sequence[Module]) -> dict[str, Outcome]:
    """How the import of each module ends, by path; modules that nobody came to are `NOT_RUN`."""
    until = time.monotonic() + side.limits.whole
    found = modules.find(side.top)
    own = sorted({one.name.partition(".")[0] for one in found})
    names = {"own": own, "packages": modules.packages(side.top, found)}
    nested = {one.root for one in found if "." in one.name}
    roots = sorted({"", *nested}, key=lambda root: (root.count("/"), root))
    known: dict[str, Outcome] = {}
    why = "the time for all modules was used up"
    while len(known) < len(units) and time.monotonic() < until:
        todo = [one for one in units if one.path not in known]
        spec = {**_common(side), **names, "roots": roots, "modules": [one._asdict() for one in todo]}
        run = _Run(side, "importer.py", spec)
        code = run.watch(until, patience=None)
        paths = {one.path for one in todo}
        new = {path: outcome for path, outcome in run.outcomes("path") if path in paths}
        known |= new
        if code is not None and (fatal := run.begun("path", known)) in paths:
            known[fatal] = Outcome(End.DIED, error=f"it ended the process that watches it ({code})")
        elif not new:
            why = why if code is None else f"the process ended with {code}: {run.last_words()}"
            break
    missing = Outcome(End.NOT_RUN, error=why)
    return {one.path: known.get(one.path, missing) for one in units}


def run_tests(side: Side) -> tuple[dict[str, Outcome], str]:
    """How each test of the project ends, by its id; and why there are none, if so."""
    until = time.monotonic() + side.limits.whole
    options = ["-q", "--maxfail=1000000", "-p", "no:cacheprovider", "-p", "no:randomly",
               "--continue-on-collection-errors", "--no-header"]  # fmt: skip
    known: dict[str, Outcome] = {}
    code: int | None = None
    said = ""
    while time.monotonic() < until:
        run = _Run(side, "tests.py", {**_common(side), "done": sorted(known), "options": options})
        code = run.watch(until, patience=side.limits.each * 2)
        known |= dict(run.outcomes("test"))
        said = run.last_words()
        if code == _USAGE and "addopts=" not in options:
            options = [*options, "-o", "addopts="]
            continue
        hung = run.begun("test", known) if code is None or code < 0 else None
        if hung is None:
            break
        end = End.LATE if code is None else End.DIED
        known[hung] = Outcome(end, side.limits.each, error="" if code is None else f"killed by signal {-code}")
    if known:
        return known, ""
    return {}, "no tests were found" if code == _NO_TESTS else said or "pytest said nothing"


def _common(side: Side) -> dict[str, Any]:
    return {"top": str(side.top), "home": side.environ["HOME"], "limit": side.limits.each}


class _Run:
    """One of our scripts beside the project's code: its rows, and the end of what it printed."""

    def __init__(self, side: Side, script: str, spec: Mapping[str, Any]) -> None:
        self._rows, self._said = bytearray(), bytearray()
        self._results, theirs = os.pipe()
        words = [sys.executable, str(_HERE / script), str(theirs)]
        try:
            self._caged = cage.launch(
                side.cage, words, environ=side.environ, cwd=str(side.top), stdin=process.PIPE, stdout=process.PIPE,
                stderr=process.STDOUT, handed=(theirs,),
            )  # fmt: skip
        finally:
            os.close(theirs)
        self._spec = json.dumps(spec).encode()

    def watch(self, until: float, patience: float | None) -> int | None:
        """The exit code; None when it came too late, or when rows have begun and none came for too long."""
        streams = self._caged.launcher
        assert streams.stdin is not None and streams.stdout is not None
        with self._caged:
            _feed(streams.stdin, self._spec)
            os.set_blocking(streams.stdout.fileno(), False)
            open_ = {self._results: self._rows, streams.stdout.fileno(): self._said}
            moved = time.monotonic()
            code = None
            while (now := time.monotonic()) < until:
                if patience is not None and self._rows and now - moved > patience:
                    break
                for source in select.select(list(open_), [], [], _TICK)[0]:
                    moved = now if source == self._results else moved
                    if not self._take(source, open_[source]):
                        del open_[source]
                code = self._caged.wait(0)
                if code is not None and self._results not in open_:
                    break
        os.close(self._results)
        return code

    def _take(self, source: int, into: bytearray) -> bool:
        """Read what is there; whether more can come."""
        data = os.read(source, 1 << 16)
        if into is self._said:
            into[:] = (into + data)[-_TAIL:]
        elif len(into) < _MOST:
            into += data
        return bool(data)

    def outcomes(self, key: str) -> Iterator[tuple[str, Outcome]]:
        """The rows of what has ended, by module or test; the first word counts."""
        told: set[str] = set()
        for row in self._checked():
            name = row.get(key)
            if isinstance(name, str) and name not in told and "end" in row:
                outcome = _outcome(row)
                if outcome is not None:
                    told.add(name)
                    yield name, outcome

    def begun(self, key: str, ended: Iterable[str]) -> str | None:
        """The module or test that was begun last and never ended."""
        done = set(ended)
        names = [row[key] for row in self._checked() if isinstance(row.get(key), str)]
        return next((name for name in reversed(names) if name not in done), None)

    def last_words(self) -> str:
        lines = self._said.decode(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else ""

    def _checked(self) -> Iterator[dict[str, Any]]:
        for line in bytes(self._rows).split(b"\n")[:-1]:
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict):
                yield row


def _feed(stream: Any, data: bytes) -> None:
    """Whoever does not read its orders says so by its end."""
    try:
        stream.write(data)
        stream.close()
    except BrokenPipeError:
        return


def _outcome(row: Mapping[str, Any]) -> Outcome | None:
    """The outcome in a row; None for a row that is not one of ours."""
    ends = {end.value: end for end in End}
    end = ends.get(row["end"]) if isinstance(row["end"], str) else None
    seconds, error, package = row.get("seconds", 0.0), row.get("error", ""), row.get("package", "")
    trace, site = row.get("trace", []), row.get("site")
    fits = (
        end is not None
        and isinstance(seconds, (int, float))
        and isinstance(error, str)
        and isinstance(package, str)
        and isinstance(trace, list)
        and all(isinstance(line, str) for line in trace)
        and (site is None or (isinstance(site, list) and [type(part) for part in site] == [str, int]))
    )
    if not fits or end is None:
        return None
    place = (site[0], site[1]) if site and not site[0].startswith(("/", "..")) else None
    return Outcome(end, float(seconds), error[:500], tuple(line[:300] for line in trace[-12:]), place, package[:100])
