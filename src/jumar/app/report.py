"""`jumar report`: one index of what a project's runs left behind, with their pages beside it."""

from __future__ import annotations

import json as json_
import os
import re
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import Any

from jumar.app import report_sources as sources
from jumar.app.report_sources import Broken, Record, Source
from jumar.app.talk import Tell, silent
from jumar.core import links, read
from jumar.core.compat import dataclass
from jumar.core.errors import UserError
from jumar.report.page import HOME, Step
from jumar.report.site import Left, Run

INDEX = "index.html"
_BACK = '<a href="index.html">{}</a>'


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    folder: Path
    """Where the runs left their files."""
    out: Path
    """Where the site goes."""


@dataclass(frozen=True, slots=True, repr=False)
class ReportResult:
    """A project's runs, and the site that shows them."""

    request: ReportRequest
    runs: tuple[Run, ...]
    left: tuple[Left, ...]
    further: tuple[Step, ...]
    files: dict[str, bytes] = field(default_factory=dict)
    """The site: every file by its name."""

    @property
    def text(self) -> str:
        """Where it stands and what to do next, for people."""
        from jumar.report import site

        return "\n".join(site.lines(str(self.request.folder), self.runs, self.left, self.further))

    def to_json(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        from jumar.report import json, site

        return json.document(site.document(str(self.request.folder), self.runs, self.left, self.further))

    def __repr__(self) -> str:
        return f"<ReportResult {self.request.folder}: {len(self.runs)} runs, {len(self.left)} left out>"


def report(request: ReportRequest, tell: Tell = silent) -> ReportResult:
    """Join what lies in a folder; nothing is written."""
    folder = request.folder
    if not folder.is_dir():
        raise UserError(f"`{folder}` is not a folder", "name the folder with your project's runs")
    found, records, left = _gather(folder, request.out, tell)
    if not found and not records and not left:
        hint = f"keep what a run says first: `jumar analyze {folder} --json > analyze.json`"
        raise UserError(f"no run of Jumar left anything in `{folder}`", hint)
    files: dict[str, bytes] = {}
    runs = [_place(source, folder, files) for source in _once(found)]
    runs += [Run(sources.of_record(record), _inside(record.path, folder)) for record in records]
    lefts = tuple(Left(_inside(one.path, folder), one.reason) for one in left)
    further = tuple(_never_compared(records, found))
    result = ReportResult(request, tuple(runs), lefts, further, files)
    files[sources.SITE] = (json_.dumps(result.to_json(), indent=1, ensure_ascii=False) + "\n").encode()
    files[INDEX] = _index(result).encode()
    return result


def write(result: ReportResult) -> list[Path]:
    """Write the site; pages of an earlier one that are gone now are removed, other files are left alone."""
    from jumar.app import report_files

    out, root = result.request.out, result.request.folder
    links.inside(out, root)
    for name in _before(out):
        if name not in result.files and (out / name).is_file():
            (out / name).unlink()
    paths = {out / name: data for name, data in sorted(result.files.items())}
    report_files.write(paths, root)
    return list(paths)


def _gather(folder: Path, out: Path, tell: Tell) -> tuple[list[Source], list[Record], list[Broken]]:
    found: list[Source] = []
    records: list[Record] = []
    left: list[Broken] = []
    measured: list[Path] = []
    for path in sources.walk(folder, out):
        if path.name.endswith(sources.PROFILE):
            measured.append(path)
            continue
        one = sources.read(path)
        if isinstance(one, Source):
            found.append(one)
        elif isinstance(one, Record):
            records.append(one)
        elif one is not None:
            left.append(one)
    if measured:
        tell("reading profiles")
    for profile in sources.profiles(measured, found):
        (found if isinstance(profile, Source) else left).append(profile)  # type: ignore[arg-type]
    return found, records, left


def _once(found: list[Source]) -> list[Source]:
    """A run that left a page and a document is one run; its page shows more."""
    seen: dict[tuple[str, ...], Source] = {}
    for source in found:
        card = source.card
        key = card.kind, card.subject, card.verdict.text
        if key not in seen or (source.html and not seen[key].html):
            seen[key] = source
    return list(seen.values())


def _place(source: Source, folder: Path, files: dict[str, bytes]) -> Run:
    """Put the page of a run into the site under a name of its own."""
    from jumar.report import policy
    from jumar.report.words import t

    card = source.card
    stem = re.sub(r"[^a-z0-9]+", "-", f"{card.kind} {card.subject}".lower()).strip("-")[:60].rstrip("-")
    name, number = f"{stem}.html", 2
    while name in files:
        name, number = f"{stem}-{number}.html", number + 1
    text = policy.bind(source.html) if source.html else source.page.html() if source.page else ""
    files[name] = text.replace(HOME, _BACK.format(t("All runs")), 1).encode()
    return Run(card, _inside(source.path, folder), name)


def _index(result: ReportResult) -> str:
    from jumar.report import site

    return site.index(str(result.request.folder), result.runs, result.left, result.further).html()


def _never_compared(records: list[Record], found: list[Source]) -> Iterator[Step]:
    """Records that no comparison names: the next command is known."""
    named = {
        Path(source.document[side]["path"]).name
        for source in found
        if source.document is not None and source.card.kind == "compare"
        for side in ("a", "b")
    }
    named |= {word for source in found if source.card.kind == "compare" for word in source.card.command.split()[2:]}
    base = [record for record in records if not str(record.meta.get("device")).startswith("npu")]
    for record in records:
        others = [one for one in base if one is not record]
        if record.path.name in named or record in base or not others:
            continue
        page = f"{record.path.name.removesuffix('.rec')}.html"
        words = f"jumar compare {others[0].path} {record.path} --html {page}"
        yield Step(f"`{record.path.name}` was recorded and never compared", words)


def _before(out: Path) -> list[str]:
    """The pages of an earlier site in this folder; a folder with another index is not ours to write into."""
    try:
        old = read.decoded(read.content(out / sources.SITE))
        return [str(run["page"]) for run in old["runs"] if run["page"] and os.path.basename(run["page"]) == run["page"]]
    except (UserError, ValueError, KeyError, TypeError):
        if (out / INDEX).exists():
            raise UserError(f"`{out / INDEX}` is not an index of Jumar", "name another folder with `-o`") from None
        return []


def _inside(path: Path, folder: Path) -> str:
    return os.path.relpath(path, folder)
