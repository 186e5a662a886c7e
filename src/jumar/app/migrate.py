"""`jumar migrate` and `jumar analyze`: run the rules over files, carry the changes out, verify them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumar.app.talk import Progress, Tell, silent
from jumar.core import notes
from jumar.core.compat import dataclass
from jumar.core.errors import UserError

if TYPE_CHECKING:
    from jumar.core.finding import Finding
    from jumar.core.held import Held
    from jumar.emulate.proof.result import Proof
    from jumar.migrate.result import ProjectResult
    from jumar.migrate.roadmap.baseline import Checked
    from jumar.migrate.roadmap.result import Roadmap
    from jumar.migrate.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrateRequest:
    """What to look at and how; None and empty leave the choice to `jumar.toml`, then to the default."""

    paths: tuple[str, ...] = ()
    to: str | None = None
    torch: str | None = None
    chip: str | None = None
    multi_card: bool | str = False
    """`ddp` (or True) for a copy of the model on each card, `fsdp` for its parameters split over them."""
    unsafe: bool = False
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    jobs: int | None = None
    cache: bool = True
    text: bytes | None = None
    """Migrate this text instead of the paths."""
    text_name: str = "stdin.py"
    """The file name of `text`; its suffix says the language."""
    write: bool = False
    """Edit the files in place."""
    out: Path | None = None
    """Write a migrated copy of the tree here."""
    force: bool = False
    """Let `out` be a folder that is not empty."""
    baseline: Path | None = None
    """A list of known findings: what is in it fails nothing."""
    verify: tuple[str, ...] = ()
    """Run this command in the migrated project, on the emulated machine."""
    prove: bool = False
    """Import every module before and after on the emulated machine, and compare."""
    tests: bool = False
    """With `prove`: run the project's own tests on both sides too."""
    limit: float = 60.0
    """With `prove`: seconds for one module or one test."""
    total_limit: float = 900.0
    """With `prove`: seconds for all modules of one side, and for all its tests."""
    read: tuple[str, ...] = ()
    """With `prove` or `verify`: files and folders outside the project that it may read."""
    sandbox: bool = True
    """With `prove` or `verify`: shut the project off; False runs it with all the user's rights."""


@dataclass(frozen=True, slots=True, repr=False)
class MigrateResult:
    """What was found and what would change, and where it was written."""

    project: ProjectResult
    request: MigrateRequest
    written: tuple[str, ...] = ()
    """Files that were edited in place."""
    not_copied: tuple[str, ...] = ()
    """Paths that are missing in the copy."""
    analysis: bool = False
    proof: Proof | None = None
    """What running the project showed, if that was asked for."""
    held: Held | None = None
    """What stood between the command that verifies it and the machine."""
    checked: Checked | None = None
    """What is new since the baseline, if one was given."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, file by file."""
        return tuple(self.project.findings())

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know beside the findings, such as settings of the project that were ignored."""
        return self.project.notes

    @property
    def left(self) -> int:
        """How many sites a person still has to look at."""
        return self.project.left()

    @property
    def changed(self) -> tuple[str, ...]:
        """The files that would change, or did."""
        return tuple(file.path for file in self.project.files if file.changed)

    @property
    def diff(self) -> str:
        """All changes as one unified diff."""
        from jumar.core.diff import unified

        files = [file for file in self.project.files if file.changed]
        return "".join(unified(file.path, file.before, file.after).decode("utf-8", "replace") for file in files)

    @property
    def roadmap(self) -> Roadmap:
        """The findings as a plan: causes in the order of the work, with effort."""
        from jumar.app import roadmap

        return roadmap.roadmap(self.project, self.request.paths)

    @property
    def is_proved(self) -> bool | None:
        """Did running both sides show that nothing got worse? None when nobody can tell."""
        from jumar.emulate.proof.result import Verdict

        known = {Verdict.SAME: True, Verdict.WORSE: False}
        return known.get(self.proof.verdict) if self.proof is not None else None

    def to_json(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        from jumar.report import json, proof

        fields = json.migration(self.project, diff=not self.analysis)
        if self.proof is not None:
            fields["proof"] = proof.fields(self.proof)
        if self.held is not None:
            fields["sandbox"] = self.held._asdict()
        if self.checked is not None:
            fields |= json.baseline(self.project, self.checked)
        return json.document(fields)

    def __repr__(self) -> str:
        states = ", ".join(f"{count} {state.value}" for state, count in self.project.states().items())
        return f"<MigrateResult {self.project.scanned} files, {len(self.changed)} changed: {states or 'no findings'}>"


def migrate(request: MigrateRequest, progress: Progress | None = None, tell: Tell = silent) -> MigrateResult:
    """Find what must change; write it where the request says so; run the command that verifies it."""
    from jumar.migrate import output

    paths = [Path(path) for path in request.paths]
    if request.out is not None:
        output.check_out(paths, request.out, force=request.force)
    result = _checked(MigrateResult(_project(request, progress), request))
    if request.write and request.text is None:
        result = replace(result, written=tuple(in_place(result.project)))
    elif request.out is not None:
        missing = copy(result.project, paths, request.out, force=request.force)
        result = replace(result, not_copied=tuple(missing))
    if request.verify:
        from jumar.app import verify

        tell(f"running `{' '.join(request.verify)}` in the migrated project")
        found, held = verify.run(result.project, request)
        tell(held.sentence)
        result = replace(_with(result, found), held=held)
    elif request.prove and request.text is None:
        from jumar.app import prove

        asked = prove.ProveRequest(
            paths=request.paths, tests=request.tests, each=request.limit, whole=request.total_limit,
            read=request.read, sandbox=request.sandbox,
        )  # fmt: skip
        proof = prove.prove(result.project, asked, tell)
        result = replace(_with(result, prove.findings(proof, result.project)), proof=proof)
    return result


def _with(result: MigrateResult, more: Sequence[Finding]) -> MigrateResult:
    """The same with what running the project showed."""
    from jumar.migrate import walk

    texts = walk.texts_at(item.where.path for item in more if item.where)
    return replace(result, project=result.project.with_findings(more, texts))


def analyze(request: MigrateRequest, progress: Progress | None = None) -> MigrateResult:
    """The report of a migration that is not carried out."""
    return _checked(MigrateResult(_project(request, progress), request, analysis=True))


def _checked(result: MigrateResult) -> MigrateResult:
    """The same, compared with the baseline that the request names."""
    if result.request.baseline is None:
        return result
    from jumar.app import roadmap

    return replace(result, checked=roadmap.check(result.project, result.request.baseline))


def in_place(project: ProjectResult) -> list[str]:
    """Write the changes over the files; which ones."""
    from jumar.migrate import output

    return output.in_place(project)


def copy(project: ProjectResult, paths: Sequence[Path], out: Path, *, force: bool = False) -> list[str]:
    """Write a changed copy of the paths; what could not be copied."""
    from jumar.migrate import output

    return output.copy(project, paths, out, force=force)


def rules() -> list[tuple[str, str, str, str]]:
    """Id, name, safety and summary of every rule."""
    from jumar.migrate.rule import all_rules

    rows = [(unit.rule.id, unit.rule.name, unit.rule.safety.value, unit.rule.summary) for unit in all_rules()]
    return sorted(dict.fromkeys(rows))


def _project(request: MigrateRequest, progress: Progress | None) -> ProjectResult:
    """Read `jumar.toml`, run the rules over the paths or the text."""
    from jumar.migrate import config, project

    if request.text is None:
        if not request.paths:
            raise UserError("nothing to migrate: no path given", "`jumar migrate .` migrates the current folder")
        for path in request.paths:
            _check_readable(path)
    with notes.collected() as told:
        found = config.load(config.find(Path(request.text_name if request.text is not None else request.paths[0])))
    given = {name: getattr(request, name) for name in config.KEYS if hasattr(request, name)}
    settings = config.settings(found, given)
    if request.text is not None:
        result = _text(request.text, request.text_name, settings)
    else:
        jobs = request.jobs or found.values.get("jobs")
        paths = [Path(path) for path in request.paths]
        result = project.migrate(paths, settings, jobs=jobs, cache=request.cache, progress=progress)
    return replace(result, from_project=config.from_project(found, given), notes=tuple(told))


def _text(raw: bytes, name: str, settings: Settings) -> ProjectResult:
    from jumar.migrate import languages, project
    from jumar.migrate.result import ProjectResult

    if languages.classify(name, raw[:200]) is None:
        raise UserError(f"no language known for `{name}`", "give a name such as `--stdin-name train.sh`")
    result = project.without_skipped(project.migrate_bytes(name, raw, settings, quiet=True), settings)
    assert result is not None
    return ProjectResult(".", (result,), settings, 1, raw.count(b"\n"))


def _check_readable(path: str) -> None:
    if not os.path.exists(path):
        hint = "check the spelling; `-` reads from stdin"
        folder = os.path.dirname(path) or "."
        if os.path.isdir(folder) and os.access(folder, os.R_OK):
            from jumar.core.nearest import did_you_mean

            near = {os.path.join(os.path.dirname(path), name): name for name in os.listdir(folder)}
            hint = did_you_mean(path, near, hint)
        raise UserError(f"no such file or folder: `{path}`", hint)
    if not os.access(path, os.R_OK | (os.X_OK if os.path.isdir(path) else 0)):
        raise UserError(f"cannot read `{path}`: no permission", "use an account that may, or name another place")
