"""Explains logs: finds the known signatures, and says which came first and which only follow from it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Optional

from jumar.machine.explain import around, facts, order, place, scan, source, stack, values, words
from jumar.machine.explain.program import Sample
from jumar.machine.explain.result import Explanation, LogFile, Occurrence
from jumar.machine.explain.source import Source
from jumar.tables import error_cases
from jumar.tables.errors import Certainty, Role, Signature, filled, noted, pattern, signatures

SHOWN = 400
"""Characters kept of a line."""
_MOST = 5_000
"""Pairs of signature and rank kept apart; further ranks are counted together."""
_NEAREST = 3
"""Causes whose lines say what the program was doing."""
_TOLD = 80
"""Characters by which exceptions are told apart."""
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
_MILD = re.compile(
    r"""(?:^|[\s\[(|<:-])(?:WARNING|WARN|INFO|DEBUG|Warning|warning|warn|info|debug|NOTICE)(?=[\s\])|>:,-])
      | \w+Warning:
      | ^\W*[WI]\d{4}\ \d\d:
      | ^--\                              # a status line of CMake
    """,
    re.X,
)
"""A level that a logger wrote before its message."""
_SEVERE = re.compile(r"\b(?:ERROR|error|FATAL|CRITICAL|Error)\b")
Key = tuple[str, int, Optional[int], str, str, int]


def explain(sources: Iterable[str | Path | Source]) -> Explanation:
    """Explain logs: files, folders with logs, or `Source`s (a name and a binary stream) such as a captured stderr.

    They are read once, in blocks, so any size will do. The explanation holds the causes in order: the first and most
    specific error, then what mostly follows from it, then what only wraps it; each with the first line of every rank.
    A rank is known from the line (`[rank3]:`, `RankID:3`, `srun -l` …) or else from the file's name (`worker_3.log`,
    `attempt_0/3/stderr.log`). Files that are broken or no text are listed with their problem and do not stop it.
    `jumar.report.explain.text` prints the result. Callers that have lines use `explain_text`.
    """
    found: dict[Key, Occurrence] = {}
    files: list[LogFile] = []
    sample = Sample()
    for item in sources:
        opened = [item] if isinstance(item, Source) else [source.open_file(path) for path in source.files(Path(item))]
        for one in opened:
            with one.stream:
                files.append(_read(one, len(files), found, sample))
    rows = [_words(key, item) for key, item in found.items()]
    foreign = sample.foreign()
    rows = [replace(row, certainty=Certainty.POSSIBLE) if row.category in foreign else row for row in rows]
    result = stack.added(order.explained(list(found.values()), rows, tuple(files)), sample.heads())
    near = [line for cause in result.causes[:_NEAREST] for line in (cause.first.text, *cause.first.around)]
    return result._replace(program=sample.kind(near))


def explain_text(lines: Iterable[str | bytes], name: str = "-") -> Explanation:
    """Explain lines that are in memory, or that come one after the other from somewhere."""
    return explain([source.from_lines(name, lines)])


def _read(log: Source, number: int, found: dict[Key, Occurrence], sample: Sample) -> LogFile:
    counter = scan.Counter()
    file_rank = place.rank_of_file(log.name)
    problem = ""
    try:
        for candidate in scan.candidates(sample.kept(source.blocks(log)), counter):
            _take(candidate, log.name, number, file_rank, found)
    except source.Broken as error:
        problem = str(error)
    return LogFile(log.name, counter.lines, counter.size, file_rank, problem)


def _take(
    candidate: scan.Candidate, name: str, number: int, file_rank: int | None, found: dict[Key, Occurrence]
) -> None:
    text = _COLOUR.sub("", candidate.text.decode("utf-8", "replace"))
    for row, match in _matches(candidate, text):
        rank = int(match[row.rank]) if row.rank else place.rank_of_line(text)
        rank = file_rank if rank is None else rank
        code = _code(row, match)
        apart = match.string[match.start() :][:_TOLD] if row.role is Role.GENERIC else code
        said = "\0".join(values.of(match).values())[:_TOLD] if row.is_form else ""
        case = _case(row, match, candidate) if row.id in error_cases.cases() else -1
        apart = apart if noted(row, apart) is not row or row.role is Role.GENERIC else ""
        key = (row.id, number, rank, apart, said, case)
        if key not in found and len(found) >= _MOST:
            key = (row.id, number, None, "", "", -1)
        if key in found:
            found[key] = found[key]._replace(times=found[key].times + 1)
            continue
        found[key] = _occurrence(candidate, text, match)._replace(file=name, order=number, rank=rank, code=code)


def _words(key: Key, item: Occurrence) -> Signature:
    """The row in the words of its code, of its case, and of the line."""
    row = error_cases.chosen(noted(signatures()[key[0]], key[3]), key[5])
    return error_cases.led(filled(row, item.values), item.values)


def _code(row: Signature, match: re.Match[str]) -> str:
    """What the row looks up: the group of that name, or the first one."""
    if not row.lookup:
        return ""
    return match.groupdict().get(row.lookup) or next((group for group in match.groups() if group), "")


def _case(row: Signature, match: re.Match[str], candidate: scan.Candidate) -> int:
    """Which case of the row the line, its neighbours or its values name."""
    before, after = candidate.before.decode("utf-8", "replace"), candidate.after.decode("utf-8", "replace")
    said = values.derived(values.of(match), around.frames(before), "")
    nearby = before[-around.NEAR :] + match.string + after
    return error_cases.of(row, match.string, nearby, said)


def _occurrence(candidate: scan.Candidate, text: str, match: re.Match[str]) -> Occurrence:
    """What the line itself says."""
    before, after = candidate.before.decode("utf-8", "replace"), candidate.after.decode("utf-8", "replace")
    frames = around.frames(before)
    return Occurrence(
        file="",
        order=0,
        line=candidate.line,
        text=_shown(match),
        rank=None,
        time=place.time_of(text, before),
        code="",
        times=1,
        facts=facts.of(match),
        is_mild=_is_mild(match),
        is_survived=around.goes_on(after),
        is_at_exit=around.is_at_exit(before),
        is_chained=around.is_chained(before),
        around=around.neighbours(before, after),
        frames=frames,
        values=values.derived(_said(match, before, after), frames, around.above(before)),
    )


def _said(match: re.Match[str], before: str, after: str) -> dict[str, str]:
    """What the line says: its values, itself, and what stands beside the match."""
    line = match.string.partition("\n")[0]
    lines = [*after.splitlines()[1:3], around.above(before)]
    told = {"line": words.plain(line), "beside": words.beside(line, match.end()) or words.of_neighbour(lines)}
    return {**told, **values.of(match)}


def _matches(candidate: scan.Candidate, text: str) -> list[tuple[Signature, re.Match[str]]]:
    """The rows that fit a line; catch-all rows only where there is nothing better."""
    for number, rows in enumerate(candidate.tiers):
        found = _fitting(rows, candidate, text)
        if number == 0 and all(row.certainty is Certainty.POSSIBLE for row, _ in found):
            found += _wrapped(candidate, text)
        if found:
            explained = {id_ for row, _ in found for id_ in row.explains}
            return _particular([(row, match) for row, match in found if row.id not in explained])
    return []


def _particular(found: list[tuple[Signature, re.Match[str]]]) -> list[tuple[Signature, re.Match[str]]]:
    """Where a particular failure is known, rows that read the form of the line or guess from a code stand back."""
    if not any(row.is_thread for row, _ in found):
        return found
    return [(row, match) for row, match in found if row.is_thread or not _is_vague(row)]


def _is_vague(row: Signature) -> bool:
    return row.is_form or row.broad or row.certainty is Certainty.POSSIBLE


def _fitting(
    rows: tuple[Signature, ...], candidate: scan.Candidate, text: str
) -> list[tuple[Signature, re.Match[str]]]:
    """The rows whose pattern, numbers and neighbours fit."""
    found = [(row, match) for row in rows if (match := pattern(row).search(_lines(candidate, text, row.lines)))]
    found = [(row, match) for row, match in found if not row.when or facts.hold(row.when, facts.of(match))]
    if words.is_source(text):
        found = [(row, match) for row, match in found if not row.is_form]
    if words.is_prose(text):
        found = [(row, match) for row, match in found if not (row.role is Role.SAID and row.broad)]
    return [(row, match) for row, match in found if not row.near or around.is_near(row.near, candidate)]


def _wrapped(candidate: scan.Candidate, text: str) -> list[tuple[Signature, re.Match[str]]]:
    """The rows that fit only a line and its continuation together: messages are wrapped, or say the reason below."""
    rows = [row for row in candidate.tiers[0] if row.lines == 1 and row.certainty is Certainty.STATED]
    rows = [row for row in rows if not row.near or around.is_near(row.near, candidate)]
    if not rows or words.is_source(text):
        return []
    before, after = candidate.before.decode("utf-8", "replace"), candidate.after.decode("utf-8", "replace")
    whole, start, end = around.joined(text, before, after)
    found = [(row, match) for row in rows if end - start < len(whole) and (match := pattern(row).search(whole))]
    return [(row, match) for row, match in found if match.start() < end and match.end() > start]


def _lines(candidate: scan.Candidate, text: str, count: int) -> str:
    """The line, and for a row of several lines those below it."""
    if count == 1:
        return text
    below = candidate.after.decode("utf-8", "replace").split("\n", count)
    return text + "\n".join(below[:count])


def _is_mild(match: re.Match[str]) -> bool:
    before = match.string[: match.start()]
    return bool(_MILD.search(before)) and not _SEVERE.search(before)


def _shown(match: re.Match[str]) -> str:
    """The line without colours; of a long one the part around the match, of several those that match."""
    line_end = match.string.find("\n", match.end())
    text = re.sub(r"\s*\n\s*", " ", match.string[: line_end if line_end >= 0 else None])
    start = max(0, min(match.start() - SHOWN // 4, len(text) - SHOWN)) if len(text) > SHOWN else 0
    part = _ESCAPE.sub("", text[start : start + SHOWN]).strip()
    return ("…" if start else "") + part + ("…" if start + SHOWN < len(text) else "")
