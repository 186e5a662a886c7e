"""Explanations of logs and names, as lines for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jumar.core.finding import Level
from jumar.core.lang import current, t
from jumar.machine.explain.result import Cause, Explanation, LogFile, Occurrence
from jumar.tables import error_words, errors, pages
from jumar.tables.errors import Certainty, Role, Signature

if TYPE_CHECKING:
    from jumar.machine.explain.names import Topic

_LINES = 4
"""Lines shown of the best explanation, and of each further one."""
_FURTHER = 8
_EXCEPTIONS = 3
"""Exceptions quoted of an unknown error."""


def text(result: Explanation) -> Iterator[str]:
    """What happened, why, what to do, the lines; then what else was found."""
    yield from _problems(result.files)
    if not result.causes or not result.is_known:
        yield from _unknown(result)
        return
    best = result.causes[0]
    yield _joined("{0}: {1}", t(_verdict(best.signature)), _what(best))
    if result.rival is not None:
        rival = result.rival.first
        yield _joined("or: {0} ({1}:{2})", _what(result.rival), rival.file, str(rival.line))
        yield t("the log states both, and not which one ended the program")
    elif _is_guess(best.signature):
        yield t("a guess: the log does not state the reason; judge by its lines")
    yield from _who(result)
    yield ""
    for item in best.occurrences[:_LINES]:
        yield from _line(item, "  ")
    yield from _more(best, "  ")
    if _is_guess(best.signature):
        yield from _around(best.first)
    yield ""
    yield from _advice(best.signature)
    yield from _further(result.causes[1:])


def topic(signatures: tuple[Signature, ...]) -> Iterator[str]:
    """What is known about the errors that a code or name stands for."""
    for row in signatures:
        yield ""
        yield _joined("{0}: {1}", row.id, errors.words(row).what)
        yield from _advice(row)


def about(topic_: Topic) -> Iterator[str]:
    """A name: what it is and where that is written; then the errors that it stands for."""
    lines = list(topic(topic_.signatures))
    if topic_.kind == "signature":
        yield from lines[1:]
        return
    yield _joined("{0}: {1}", topic_.name, t(topic_.title))
    if topic_.about:
        yield t(topic_.about)
    yield _joined("source: {0}", error_words.source(topic_.source))
    yield from lines


def topic_json(topic_: Topic) -> dict[str, Any]:
    rows = [signature_json(row) for row in topic_.signatures]
    return {**topic_._asdict(), "kind": str(topic_.kind), "signatures": rows}


def as_json(result: Explanation) -> dict[str, Any]:
    return {
        "known": result.is_known,
        "error": result.has_error,
        "first_rank": result.first_rank,
        "silent_ranks": list(result.silent_ranks),
        "causes": [_cause(cause) for cause in result.causes],
        "files": [file._asdict() for file in result.files],
        "program": result.program,
        "collect": list(_collect(result)) if result.has_error and not result.is_known else [],
    }


def signature_json(row: Signature) -> dict[str, Any]:
    return {
        "id": row.id,
        "category": row.category,
        "level": row.level.value,
        "role": row.role.value,
        "certainty": row.certainty.value,
        "what": row.what,
        "why": row.why,
        "do": list(row.do),
        "source": row.source,
        "address": pages.address(row.id),
    }


def _cause(cause: Cause) -> dict[str, Any]:
    lines = [
        {
            "file": item.file,
            "line": item.line,
            "text": item.text,
            "rank": item.rank,
            "time": str(item.time) if item.time else None,
            "code": item.code or None,
            "times": item.times,
            "around": list(item.around),
            "frames": [frame._asdict() for frame in item.frames],
            "facts": {name: round(size) for name, size in item.facts.items()},
        }
        for item in cause.occurrences
    ]
    return {**signature_json(cause.signature), "times": cause.times, "lines": lines}


def _problems(files: tuple[LogFile, ...]) -> Iterator[str]:
    for file in files:
        if file.problem:
            yield t(f"note: `{file.name}`: {file.problem}")


def _what(cause: Cause) -> str:
    """What happened, with the code that the line names."""
    what = errors.words(cause.signature).what
    code = "" if cause.signature.is_filled else cause.first.code
    if not code:
        return what
    name = errors.code_name(cause.signature.lookup, code)
    return _joined("{0}: {1}", what, _joined("{0} ({1})", code, name) if name else code)


def _joined(form: str, *parts: str) -> str:
    """The form in the language of the reader, around words that are in it already or stay as they are."""
    return t(form).format(*parts)


def _is_guess(row: Signature) -> bool:
    return row.certainty is Certainty.POSSIBLE


def _verdict(row: Signature) -> str:
    return "may be" if _is_guess(row) else row.level.value


def _around(item: Occurrence) -> Iterator[str]:
    if item.around:
        yield t("  the lines around it:")
        yield from (f"    | {line}" for line in item.around)


def _collect(result: Explanation) -> tuple[str, ...]:
    """What a person needs to find an error that no signature knows, for this kind of program."""
    rows = errors.programs()
    return next((row.collect for row in rows if row.kind == result.program), rows[-1].collect)


def _who(result: Explanation) -> Iterator[str]:
    if result.first_rank is not None:
        best = result.causes[0]
        first = next((item for item in best.occurrences if item.rank == result.first_rank), None)
        when = f" at {first.time}" if first and first.time else ""
        verb = "reported it" if first and best.signature.role is Role.FOLLOWS else "failed"
        yield t(f"rank {result.first_rank} {verb} first{when}")
    if result.silent_ranks:
        ranks = ", ".join(map(str, result.silent_ranks))
        yield t(f"the others waited; rank {ranks} reports nothing: check it first")


def _line(item: Occurrence, indent: str) -> Iterator[str]:
    rank = f" (rank {item.rank})" if item.rank is not None else ""
    yield f"{indent}{item.file}:{item.line}{rank}: {item.text}"


def _more(cause: Cause, indent: str) -> Iterator[str]:
    rest = cause.times - min(len(cause.occurrences), _LINES)
    if rest:
        yield t(f"{indent}… and {rest} more line{'' if rest == 1 else 's'} like this")


def _advice(row: Signature) -> Iterator[str]:
    words = errors.words(row)
    yield _joined("possible reason: {0}" if _is_guess(row) else "why: {0}", words.why)
    if words.do:
        yield t("worth a try:" if _is_guess(row) else "what to do:")
        yield from (f"  - {step}" for step in words.do)
    if row.source:
        yield _joined("source: {0}", error_words.source(row.source))
    yield _joined("page: {0}", pages.address(row.id, current()))


def _further(causes: tuple[Cause, ...]) -> Iterator[str]:
    if not causes:
        return
    yield ""
    yield t("also in the log:")
    for cause in causes[:_FURTHER]:
        where = f"{cause.first.file}:{cause.first.line}"
        said = cause.first.text if cause.signature.role is Role.GENERIC else _what(cause)
        shown = f"{cause.signature.id} {cause.signature.level}"
        kind = _joined("{0}: {1}", t(_kind(cause.signature)), said)
        yield f"  {where}: {_joined('{0}, {1}', shown, kind)}"
    if len(causes) > _FURTHER:
        yield t(f"  … and {len(causes) - _FURTHER} more; `--json` has them all")


def _kind(row: Signature) -> str:
    if row.level is not Level.ERROR:
        return "not a failure"
    if row.role is Role.ROOT and _is_guess(row):
        return "a possible cause"
    return {
        Role.ROOT: "an independent cause",
        Role.SYMPTOM: "the kind of failure",
        Role.DETAIL: "names the faulty part",
        Role.SAID: "the program's own words",
        Role.GENERIC: "an exception",
        Role.FOLLOWS: "mostly a consequence",
        Role.WRAPPER: "only reports the failure",
        Role.UNKNOWN: "not known",
    }[row.role]


def _unknown(result: Explanation) -> Iterator[str]:
    lines = sum(file.lines for file in result.files)
    if not result.has_error:
        yield t(f"no error found in {lines:,} line{'' if lines == 1 else 's'}")
        yield from _further(result.causes)
        return
    yield t(f"unknown error: nothing in {lines:,} line{'' if lines == 1 else 's'} fits a known Ascend error")
    yield from _who(result)
    shown = [cause for cause in result.causes if cause.signature.level is Level.ERROR]
    if shown:
        yield from ("", t("nearest to a reason:"))
        for cause in shown[:_FURTHER]:
            yield from _quoted(cause)
    yield from ("", t("to find the reason, collect:"))
    yield from (f"  - {t(item)}" for item in _collect(result))


def _quoted(cause: Cause) -> Iterator[str]:
    """Lines without a verdict: an exception with its places, anything else with its neighbours."""
    if cause.signature.role is not Role.GENERIC:
        yield from _line(cause.first, "  ")
        yield _reason(cause)
        yield from _around(cause.first)
        return
    for item in cause.occurrences[:_EXCEPTIONS]:
        yield from _line(item, "  ")
        yield from (f"    {t('your code' if frame.is_own else 'library')}: {frame}" for frame in item.frames)
    yield _reason(cause)


def _reason(cause: Cause) -> str:
    return "    " + _joined("{0}: {1}", _what(cause), errors.words(cause.signature).why)
