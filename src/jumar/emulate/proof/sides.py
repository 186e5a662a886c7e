"""Runs one side of a proof: imports of all modules, or the project's tests, in the cage and within their limits."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from jumar.core.compat import dataclass
from jumar.emulate import command as commands
from jumar.emulate.glue import probe
from jumar.emulate.proof import modules
from jumar.emulate.proof.modules import Module
from jumar.emulate.proof.result import End, Outcome
from jumar.runtime import compiled, process, variables

_HERE = Path(__file__).parent
_PLUGIN = "jumar_proof_tests"
_TICK = 0.1
_USAGE, _NO_TESTS = 4, 5
"""Exit codes of pytest: it does not know an option, it found no test."""


@dataclass(frozen=True, slots=True)
class Limits:
    each: float = 60.0
    """Seconds for a module or a test."""
    whole: float = 900.0
    """Seconds for one side's modules, and as much for its tests."""
    memory: int = 8 << 30
    """Bytes that one process may write to."""


@dataclass(frozen=True, slots=True)
class Side:
    """A copy of the project with what is needed to run it."""

    scratch: Path
    """May be written; holds the project as `project`, and the results."""
    environ: Mapping[str, str]
    limits: Limits
    caged: bool

    @property
    def top(self) -> Path:
        return self.scratch / "project"


def environment(environ: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """The variables of the emulated machine; whatever writes to a home writes to the scratch folder."""
    request = commands.RunRequest()
    built = commands.announced(commands.build(["-c", "pass"], request, {**environ, variables.EMULATE.name: "1"}))
    commands.prepare(built, request)
    if built.glue:
        probe.settings()  # Kept in the cache, which the sandbox cannot write.
    home = scratch / "home"
    home.mkdir(parents=True, exist_ok=True)
    (scratch / "tmp").mkdir(exist_ok=True)
    own = {
        variables.CACHE.name: str(compiled.cache_dir()), variables.QUIET.name: "1", "HOME": str(home),
        "TMPDIR": str(scratch / "tmp"), "MPLCONFIGDIR": str(home / "matplotlib"), "MPLBACKEND": "Agg",
        "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1", "WANDB_MODE": "disabled",
        # Without threads of its own, torch can be loaded once and forked for each group of modules.
        "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    }  # fmt: skip
    return {**environ, **built.variables, **own}


def can_cage(scratch: Path) -> bool:
    """Does the system allow a sandbox of its own?"""
    try:
        return process.run(_caged(scratch, Limits(), ()), timeout=30).code == 0
    except (process.NotStarted, process.Late):
        return False


def import_all(side: Side, units: Sequence[Module], *, alone: bool = False) -> dict[str, Outcome]:
    """How the import of each module ends, by path; modules that nobody came to are `NOT_RUN`.

    `alone` gives each a process of its own: nothing that another module did can matter then.
    """
    results, spec = side.scratch / "imports.jsonl", side.scratch / "imports.json"
    results.write_bytes(b"")
    until = time.monotonic() + side.limits.whole
    known: dict[str, Outcome] = {}
    while len(known) < len(units) and time.monotonic() < until:
        todo = [one for one in units if one.path not in known]
        spec.write_text(json.dumps(_spec(side, todo, results, alone=alone)), encoding="utf-8")
        words = [sys.executable, str(_HERE / "importer.py"), str(spec)]
        _watch(_start(side, words, side.scratch / "imports.txt"), until, None, side.limits.each * 2)
        found = _imports(results, side.top)
        if len(found) == len(known):
            break
        known = found
    missing = Outcome(End.NOT_RUN, error="the time for all modules was used up")
    return {one.path: known.get(one.path, missing) for one in units}


def run_tests(side: Side) -> tuple[dict[str, Outcome], str]:
    """How each test of the project ends, by its id; and why there are none, if so."""
    folder = side.scratch / "plugin"
    folder.mkdir(exist_ok=True)
    for name, source in ((f"{_PLUGIN}.py", "tests.py"), ("guard.py", "guard.py")):
        (folder / name).write_bytes((_HERE / source).read_bytes())
    results, said = side.scratch / "tests.jsonl", side.scratch / "tests.txt"
    results.write_bytes(b"")
    until = time.monotonic() + side.limits.whole
    override: list[str] = []
    late: dict[str, Outcome] = {}
    code: int | None = None
    while time.monotonic() < until:
        found = _tests(results) | late
        _write_plugin_spec(folder, side, results, found)
        code = _watch(_start(side, [*_pytest(), *override], said, folder), until, results, side.limits.each * 2)
        if code == _USAGE and not override:
            override = ["-o", "addopts="]
            continue
        hung = _hung(results) if code is None or code < 0 else None
        if hung is None:
            break
        end = End.LATE if code is None else End.DIED
        late[hung] = Outcome(end, side.limits.each, error="" if code is None else f"killed by signal {-code}")
    found = _tests(results) | late
    if found:
        return found, ""
    text = said.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return {}, "no tests were found" if code == _NO_TESTS else (text or ["pytest said nothing"])[-1][:300]


def _spec(side: Side, todo: Sequence[Module], results: Path, *, alone: bool) -> dict[str, Any]:
    """Modules that share a root share a process; one that starts work has its own."""
    groups: list[list[dict[str, Any]]] = []
    for _, members in groupby(todo, key=lambda one: (one.root, one.path if one.acts or alone else "")):
        groups.append([{"path": one.path, "name": one.name, "root": one.root, "acts": one.acts} for one in members])
    found = modules.find(side.top)
    packages = {one.root for one in found if "." in one.name}
    roots = sorted({"", *packages}, key=lambda root: (root.count("/"), root))
    own = sorted({one.name.partition(".")[0] for one in found})
    return {
        "top": str(side.top.resolve()), "scratch": str(side.scratch), "results": str(results), "groups": groups,
        "roots": roots, "own": own, "limit": side.limits.each, "caged": side.caged, "preload": ["torch", "torch_npu"],
    }  # fmt: skip


def _write_plugin_spec(folder: Path, side: Side, results: Path, done: Mapping[str, Outcome]) -> None:
    spec = {
        "results": str(results), "done": sorted(done), "limit": side.limits.each, "caged": side.caged,
        "scratch": str(side.scratch), "top": str(side.top.resolve()),
    }  # fmt: skip
    (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")


def _pytest() -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "--maxfail=1000000", "-p", "no:cacheprovider",
            "-p", "no:randomly", "-p", _PLUGIN, "--continue-on-collection-errors", "--no-header"]  # fmt: skip


def _start(side: Side, words: Sequence[str], said: Path, plugin: Path | None = None) -> process.Process:
    env = dict(side.environ)
    if plugin is not None:
        paths = [str(plugin), str(side.top), *([str(side.top / "src")] if (side.top / "src").is_dir() else [])]
        env["PYTHONPATH"] = os.pathsep.join([*paths, *filter(None, [env.get("PYTHONPATH")])])
    with open(said, "wb") as out:
        return process.start(
            _caged(side.scratch, side.limits, words), cwd=side.top, env=env, stdout=out, stderr=process.STDOUT
        )


def _caged(scratch: Path, limits: Limits, words: Sequence[str]) -> list[str]:
    cage = [sys.executable, "-I", "-S", str(_HERE / "cage.py")]
    return [*cage, str(scratch), str(limits.memory), str(int(limits.whole)), "--", *words]


def _watch(running: process.Process, until: float, results: Path | None, patience: float) -> int | None:
    """Wait for the end; None when it came too late, or when `results` has begun and did not grow for too long."""
    size, moved = -1, time.monotonic()
    try:
        while True:
            try:
                return running.wait(_TICK)
            except process.Late:
                now = time.monotonic()
            grown = results.stat().st_size if results is not None else 0
            if not grown or grown != size:
                size, moved = grown, now
            if now > until or now - moved > patience:
                return None
    finally:
        process.kill(running)


def _imports(results: Path, top: Path) -> dict[str, Outcome]:
    return {row["path"]: _outcome(row) for row in _rows(results)}


def _tests(results: Path) -> dict[str, Outcome]:
    return {row["test"]: _outcome(row) for row in _rows(results) if "end" in row}


def _hung(results: Path) -> str | None:
    """The test that was begun and never ended."""
    rows = list(_rows(results))
    ended = {row["test"] for row in rows if "end" in row}
    begun = [row["test"] for row in rows if row["test"] not in ended]
    return begun[-1] if begun else None


def _rows(results: Path) -> Iterable[dict[str, Any]]:
    for line in results.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            yield json.loads(line)
        except ValueError:  # The process was killed while it wrote.
            continue


def _outcome(row: Mapping[str, Any]) -> Outcome:
    site = row.get("site")
    return Outcome(
        End(row["end"]), row.get("seconds", 0.0), row.get("error", ""), tuple(row.get("trace", ())),
        (site[0], site[1]) if site else None, row.get("package", ""),
    )  # fmt: skip
