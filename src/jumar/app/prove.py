"""Proof by execution: the project before and after its migration, imported and tested on the emulator, side by side."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jumar.app.talk import Tell, silent
from jumar.core.compat import dataclass
from jumar.core.words import counted
from jumar.runtime import scratch

if TYPE_CHECKING:
    from jumar.core.finding import Finding, Where
    from jumar.emulate.proof.result import Case, Proof
    from jumar.emulate.proof.sides import Limits, Side
    from jumar.migrate.result import ProjectResult

LARGEST = 20_000_000
"""Bytes of a file that is copied; weights and data sets are left out."""
_LEFT_OUT = {".git", ".hg", ".svn"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProveRequest:
    paths: tuple[str, ...]
    tests: bool = False
    each: float = 60.0
    """Seconds for one module or one test."""
    whole: float = 900.0
    """Seconds for all modules of one side, and for all its tests."""
    read: tuple[str, ...] = ()
    """Files and folders outside the project that it may read."""
    sandbox: bool = True


def prove(result: ProjectResult, request: ProveRequest, tell: Tell = silent) -> Proof:
    """Import every module on both sides, and run the tests if asked; the user's files are not touched."""
    from jumar.emulate.proof.sides import Limits

    started = time.monotonic()
    with scratch.folder("jumar-proof-") as folder:
        before, after, notes = _sides(result, request, Path(folder), Limits(request.each, request.whole))
        changed = _changed(result)
        proof = _modules(before, after, changed, _wanted(result, request), tell)
        if request.tests:
            proof = _tests(proof, before, after, changed, tell)
    return replace(proof, notes=(*notes, *proof.notes), seconds=time.monotonic() - started)


def findings(proof: Proof, result: ProjectResult) -> list[Finding]:
    """What got worse, at the lines of the user's own files."""
    from jumar.core.finding import Finding, Level, State, Where

    tests = set(map(id, proof.tests))
    found = []
    for case in proof.worse:
        is_test = id(case) in tests
        id_, name = ("EM107", "test-worse") if is_test else ("EM106", "import-worse")
        doing = "passed" if is_test else "could be imported"
        error = case.after.error or case.after.end.value
        message = f"`{case.name}` {doing} before the migration and now ends with: {error}"
        where = place(case, result) or Where(os.path.join(result.root, case.path))
        found.append(Finding(id_, Level.ERROR, message, where, None, state=State.HAND, doc=name, subject=case.name))
    return found


def place(case: Case, result: ProjectResult) -> Where | None:
    """Where the error is, in the file as the user has it."""
    from jumar.app.verify import old_line
    from jumar.core.finding import Where

    if case.after.site is None:
        return None
    path = os.path.join(result.root, case.after.site[0])
    line = old_line(result, path, case.after.site[1])
    return Where(path, line, 1, line, 1)


def _sides(result: ProjectResult, request: ProveRequest, place: Path, limits: Limits) -> tuple[Side, Side, list[str]]:
    from jumar.emulate.proof import sides

    reverse = tuple(replace(file, before=file.after, after=file.before) for file in result.files if file.changed)
    made, large = [], 0
    for name, files in (("before", reverse), ("after", result.files)):
        top = place / name / "project"
        large = _copy(replace(result, files=files), [Path(path) for path in request.paths], top)
        made.append(sides.side(top, limits, os.environ, request.read, sandbox=request.sandbox))
    notes = [f"files larger than {LARGEST // 1_000_000} MB that were not copied: {large}"] if large else []
    return made[0], made[1], notes


def _copy(result: ProjectResult, paths: Sequence[Path], out: Path) -> int:
    """A copy that may be written to; how many large files are not in it."""
    from jumar.migrate import output

    out.mkdir(parents=True)
    large = 0
    for step in output.steps(result, paths):
        if _LEFT_OUT.intersection(step.target.split("/")):
            continue
        if step.data is None and step.source and _size(step.source) > LARGEST:
            large += 1
        else:
            output.carry_out(step, out)
    for path in paths:
        if path.is_file():
            _copy_beside(path, out / os.path.relpath(path.parent, result.root))
    return large


def _copy_beside(path: Path, out: Path) -> None:
    """What a single file may import: the modules and packages of its folder."""
    for found in sorted(path.parent.iterdir()):
        target = out / found.name
        if target.exists():
            continue
        if found.suffix == ".py" and found.is_file():
            shutil.copy2(found, target)
        elif (found / "__init__.py").is_file():
            shutil.copytree(found, target, ignore=shutil.ignore_patterns("__pycache__", "*.pt", "*.pth", "*.bin"))


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _changed(result: ProjectResult) -> frozenset[str]:
    """Paths of files that the migration changes, from the top of the project."""
    return frozenset(os.path.relpath(file.path, result.root) for file in result.files if file.changed)


def _wanted(result: ProjectResult, request: ProveRequest) -> Callable[[str], bool]:
    """Which files the user named, from the top of the project: those beside a single file are only there for it."""
    named = [os.path.relpath(path, result.root) for path in request.paths]
    return lambda path: any(one == "." or path == one or path.startswith(f"{one}/") for one in named)


def _modules(before: Side, after: Side, changed: frozenset[str], wanted: Callable[[str], bool], tell: Tell) -> Proof:
    from jumar.emulate.proof import judge, modules
    from jumar.emulate.proof.result import Proof
    from jumar.emulate.proof.sides import import_all

    units = [one for one in modules.find(after.top) if (before.top / one.path).exists() and wanted(one.path)]
    tell(f"importing {counted(len(units), 'module')} before the migration, on the emulator")
    old = import_all(before, units)
    tell("importing them after the migration")
    new = import_all(after, units)

    cases = tuple(
        judge.module(one, old[one.path], new[one.path], is_changed=one.path in changed) for one in units
    )  # fmt: skip
    left = [path for path in modules.left_out(after.top) if wanted(path)]
    notes = (f"not imported, as they are no modules: {_some(left)}",) if left else ()
    return Proof(cases, (), judge.missing(cases), notes, held=after.held)


def _tests(proof: Proof, before: Side, after: Side, changed: frozenset[str], tell: Tell) -> Proof:
    import importlib.util

    from jumar.emulate.proof import judge
    from jumar.emulate.proof.sides import run_tests

    if importlib.util.find_spec("pytest") is None:
        return replace(proof, notes=(*proof.notes, "the tests were not run: pytest is not installed here"))
    tell("running the project's tests before the migration")
    old, why = run_tests(before)
    tell("running them after the migration")
    new, why = run_tests(after) if old or not why else ({}, why)
    is_changed: Callable[[str], bool] = changed.__contains__
    names = dict.fromkeys([*old, *new])
    cases = tuple(judge.test(name, old.get(name), new.get(name), is_changed) for name in names)
    notes = (f"the project's tests gave no result: {why}",) if not cases else ()
    return replace(proof, tests=cases, notes=(*proof.notes, *notes))


def _some(names: Sequence[str], most: int = 3) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
