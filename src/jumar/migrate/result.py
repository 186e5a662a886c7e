"""What a migration run hands to reports and commands: plain values that never look at the disk."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from jumar.core.compat import dataclass
from jumar.core.edit import Edit, OverlapError, apply
from jumar.core.finding import Finding, State, Where
from jumar.core.source import Source, UnreadableError
from jumar.migrate.settings import Settings


@dataclass(frozen=True, slots=True)
class FileResult:
    path: str
    """As reached from the paths the user gave, with `/`: it can be opened, and clicked in a terminal."""
    before: bytes
    after: bytes
    findings: tuple[Finding, ...]
    extra: tuple[tuple[str, bytes], ...] = ()
    """Further files that this one now needs, by path relative to this file's folder."""

    @property
    def changed(self) -> bool:
        return self.before != self.after

    def texts(self) -> tuple[bytes, bytes]:
        """Both sides as UTF-8 without BOM; as they are when they cannot be read as text."""
        old, new = _source(self.path, self.before), _source(self.path, self.after)
        return (old.data, new.data) if old and new else (self.before, self.after)

    def exact_edits(self) -> dict[int, tuple[Edit, ...]]:
        """Edits by the finding's identity, as offsets in characters of the text without BOM.

        Findings of later rounds have edits of a text that nobody sees. When the edits that were made do not
        explain the difference, none of them is given; edits that only wait for a person are always those of
        the text as it is.
        """
        source = _source(self.path, self.before)
        if source is None:
            return {}
        made = [item for item in self.findings if item.state is State.REWRITTEN]
        try:
            explained = source.encode(apply(source.data, (edit for item in made for edit in item.edits))) == self.after
        except (OverlapError, UnicodeError):
            explained = False
        known = [item for item in self.findings if item.edits and (explained or item.state is not State.REWRITTEN)]
        return {id(item): tuple(_in_characters(edit, source.data) for edit in item.edits) for item in known}


def _source(path: str, raw: bytes) -> Source | None:
    try:
        return Source.from_bytes(path, raw, python=path.endswith((".py", ".pyi")))
    except UnreadableError:
        return None


def _in_characters(edit: Edit, data: bytes) -> Edit:
    start = len(data[: edit.start].decode("utf-8", "replace"))
    return Edit(start, start + len(data[edit.start : edit.end].decode("utf-8", "replace")), edit.new)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that was passed over without reading it."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class ProjectResult:
    root: str
    """The folder that `-o OUT` mirrors: the given folder, or the one that holds all given paths."""
    files: tuple[FileResult, ...]
    """Files with findings, changes or extra files, by path; files without any need not be kept."""
    settings: Settings
    scanned: int = 0
    """Number of files that were read."""
    lines: int = 0
    seconds: float = 0.0
    skipped: tuple[Skipped, ...] = ()
    supports_ascend: tuple[Where, ...] = ()
    """Places that show that the project already supports NPUs, so that what is left are gaps; empty if it does not."""
    from_project: tuple[str, ...] = ()
    """Keys of the project's `jumar.toml` that were in force."""
    notes: tuple[str, ...] = ()
    """What to know beside the findings, such as settings of the project that were ignored."""

    def findings(self) -> Iterator[Finding]:
        for file in self.files:
            yield from file.findings

    def states(self) -> Counter[State]:
        """How many sites ended in each state."""
        return Counter(finding.state for finding in self.findings() if finding.state is not None)

    def left(self) -> int:
        """How many sites a person still has to look at."""
        states = self.states()
        return states[State.HAND] + states[State.UNSUPPORTED] + states[State.FALLBACK]

    def with_findings(self, more: Iterable[Finding], texts: Mapping[str, bytes]) -> ProjectResult:
        """The same with what was found out afterwards, each at its file; without a place, at the root.

        `texts` are those of files that no finding was about so far, by path.
        """
        files = {os.path.normpath(file.path): file for file in self.files}
        for item in more:
            path = item.where.path if item.where else self.root
            text = texts.get(path, b"")
            file = files.get(os.path.normpath(path)) or FileResult(path, text, text, ())
            files[os.path.normpath(path)] = replace(file, findings=(*file.findings, item))
        return replace(self, files=tuple(files.values()))

    def new_files(self) -> dict[str, bytes]:
        """The extra files of all results by path, each once."""
        found: dict[str, bytes] = {}
        for file in self.files:
            folder = os.path.dirname(file.path)
            for name, data in file.extra:
                found.setdefault(os.path.normpath(os.path.join(folder, name)), data)
        return found
