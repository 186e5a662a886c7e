"""The order of an explanation: the first and most specific error, then its consequences, then what only wraps it."""

from __future__ import annotations

import re
from dataclasses import replace

from jumar.core.compat import zip
from jumar.core.finding import Level
from jumar.machine.explain.result import TELLING, Cause, Explanation, LogFile, Occurrence
from jumar.tables.errors import Certainty, Role, Signature, Trait

_ROLES = list(Role)
_LEVELS = list(Level)
_FAILURES = (Role.ROOT, Role.SYMPTOM, Role.FOLLOWS)
_ENDS = (Role.ROOT, Role.SYMPTOM, Role.SAID, Role.GENERIC)
"""Roles of lines with which a program ends."""
_LATER = 300.0
"""Seconds, and hundreds of lines, after the first failure: what comes later is another story, such as a restart."""
_OF_ITS_OWN = (
    "build",
    "container",
    "distributed",
    "host",
    "import",
    "install",
    "migration",
    "modelarts",
    "python-deps",
)
"""Kinds of causes that stop a program by themselves; after a failure of the device they belong to a restart."""
_PROGRAM = ("python", "thread", "version", *_OF_ITS_OWN)
"""Kinds of failures of the program itself, without the device."""
_IMPORTS = ("import", "install", "migration", "python-deps", "version")
"""Kinds of causes that programs catch and report as a warning."""
_STACK = re.compile(r"(?i)torch|cann|driver|firmware|mindspore|mindie|vllm|triton|toolkit|hdk|\bopp\b|kernels?\b")
"""Parts of the stack below a program."""
_DISTURBED = ("kernels", "pta", "runtime")
"""Kinds of failures that follow where such parts do not match."""
_STORY = 8
"""Lines next to each other tell one story, unless each ends a traceback."""
_ROOT_ROWS = 8
"""Lines after `Root Cause` in which torchrun names the rank."""


def explained(occurrences: list[Occurrence], signatures: list[Signature], files: tuple[LogFile, ...]) -> Explanation:
    """`signatures` says which one each occurrence belongs to."""
    several = len({(item.order, item.rank) for item in occurrences}) > 1
    with_time = several and all(item.time for item in occurrences)
    with_year = all(item.time and item.time.year for item in occurrences)

    def when(item: Occurrence) -> tuple[tuple[float, ...], int, int]:
        time: tuple[float, ...] = ()
        if with_time and item.time:
            time = tuple(item.time) if with_year else tuple(item.time)[1:]
        return time, item.order, item.line

    grouped: dict[Signature, list[Occurrence]] = {}
    for item, signature in zip(occurrences, signatures, strict=True):
        grouped.setdefault(signature, []).append(item)
    causes = _settled([Cause(signature, tuple(sorted(items, key=when))) for signature, items in grouped.items()])
    begin = min(
        (cause for cause in causes if _is_failure(cause.signature)), key=lambda cause: when(cause.first), default=None
    )

    def weight(cause: Cause) -> tuple[object, ...]:
        row = cause.signature
        late = begin is not None and _is_later(begin.first, cause.first)
        after = begin.signature if begin is not None and when(begin.first) < when(cause.first) else None
        role = _ROLES.index(_role(row, after))
        doubt = _doubt(row)
        outlived = _is_outlived(cause) or _is_replaced(cause, causes) or _is_at_exit(cause)
        behind = not _is_warned_mismatch(cause, causes)
        return (
            _LEVELS.index(row.level),
            late,
            outlived,
            behind,
            role,
            doubt,
            when(cause.first),
            -_literal(cause),
            row.id,
        )

    causes = sorted(causes, key=weight)
    blamed = _blamed_by_torchrun(causes)
    causes = [cause for cause in causes if Trait.PROCESS not in cause.signature.traits]
    rival = _rival(causes)
    if rival is not None:
        causes[0] = _as_guess(causes[0])
    return Explanation(tuple(causes), files, _first_rank(causes, blamed), _silent(causes, files), rival)


def _doubt(row: Signature) -> tuple[bool, bool]:
    """How far a row stands back: a guess about a particular failure still knows more than a guess from a code."""
    guess = row.certainty is Certainty.POSSIBLE
    return guess and not row.is_thread, row.broad or (guess and row.is_thread)


def _settled(causes: list[Cause]) -> list[Cause]:
    """What another cause explains follows from it; lines that merely look like errors count only on their own."""
    warned = [_is_only_warned(cause) and not _is_warned_mismatch(cause, causes) for cause in causes]
    causes = [_as_warning(cause) if is_warned else cause for cause, is_warned in zip(causes, warned, strict=True)]
    explained = {id_ for cause in causes for id_ in cause.signature.explains}
    if any(cause.signature.level is Level.ERROR and cause.signature.role is not Role.UNKNOWN for cause in causes):
        causes = [cause for cause in causes if cause.signature.role is not Role.UNKNOWN]
    if any(_is_telling(cause.signature) for cause in causes):
        causes = [cause for cause in causes if not _is_mere_quote(cause.signature)]
    return [_follows(cause) if cause.signature.id in explained else cause for cause in causes]


def _is_telling(row: Signature) -> bool:
    return row.level is Level.ERROR and row.role in TELLING and not _is_mere_quote(row)


def _is_mere_quote(row: Signature) -> bool:
    """A line that gives a reason and that no row knows: worth a word only where there is nothing else."""
    return row.role is Role.SAID and row.broad


def _is_only_warned(cause: Cause) -> bool:
    """Did the program go on? It called each line a warning, and the lines show no failure of the device."""
    row = cause.signature
    quoted = row.role in (Role.GENERIC, Role.UNKNOWN, Role.SAID) or (row.broad and row.is_filled)
    may_go_on = quoted or row.category in _IMPORTS
    return row.level is Level.ERROR and may_go_on and all(item.is_mild for item in cause.occurrences)


def _is_warned_mismatch(cause: Cause, causes: list[Cause]) -> bool:
    """Did the program warn that two parts of the stack do not match, before a failure of operators or shapes?"""
    warning = cause.first
    if not _is_mismatch(cause) or not all(item.is_mild and _STACK.search(item.text) for item in cause.occurrences):
        return False
    errors = [other for other in causes if other.signature.level is Level.ERROR and not _is_mismatch(other)]
    ends = [other for other in errors if other.first.order == warning.order and other.signature.role in _ENDS]
    return bool(ends) and all(_is_disturbed(end.signature) and warning.line < end.first.line for end in ends)


def _is_mismatch(cause: Cause) -> bool:
    return Trait.MISMATCH in cause.signature.traits


def _is_disturbed(row: Signature) -> bool:
    """Is it a failure that versions which do not match also cause?"""
    is_unclear = row.role in (Role.SAID, Role.GENERIC)
    return row.category in _DISTURBED or Trait.FOLLOWS_MISMATCH in row.traits or is_unclear


def _is_at_exit(cause: Cause) -> bool:
    return all(item.is_at_exit for item in cause.occurrences)


def _as_warning(cause: Cause) -> Cause:
    return cause._replace(signature=replace(cause.signature, level=Level.WARNING))


def _is_outlived(cause: Cause) -> bool:
    """Did the program go on after every line of a failure that would have ended it?"""
    row = cause.signature
    return row.category in _PROGRAM and row.role in _ENDS and all(item.is_survived for item in cause.occurrences)


def _is_replaced(cause: Cause, causes: list[Cause]) -> bool:
    """Does a program say it better right after: an exception that was raised while handling this one?"""
    if cause.signature.role is not Role.SAID:
        return False
    first = cause.first
    chained = [other.first for other in causes if other.signature.role is Role.SAID and other.first.is_chained]
    return any(item.order == first.order and item.rank == first.rank and item.line > first.line for item in chained)


def _rival(causes: list[Cause]) -> Cause | None:
    """A second reason, stated as clearly as the first, that neither follows from it nor belongs to its exception."""
    if not causes or not _may_compete(causes[0]):
        return None
    best = causes[0]
    return next((cause for cause in causes[1:] if _may_compete(cause) and _is_apart(best, cause)), None)


def _may_compete(cause: Cause) -> bool:
    """Is it the end of a program by itself? What the device reports belongs to one story."""
    row = cause.signature
    stated = row.level is Level.ERROR and row.role is Role.ROOT and row.certainty is Certainty.STATED
    return stated and row.category in _PROGRAM and not _is_outlived(cause)


def _is_apart(best: Cause, other: Cause) -> bool:
    first, second = best.first, other.first
    is_close = first.order == second.order and abs(first.line - second.line) <= _STORY
    near = is_close and not (first.frames and second.frames)
    same_tier = best.signature.broad == other.signature.broad and best.signature.id != other.signature.id
    return same_tier and first.rank == second.rank and not near and not second.is_chained


def _as_guess(cause: Cause) -> Cause:
    return cause._replace(signature=replace(cause.signature, certainty=Certainty.POSSIBLE))


def _follows(cause: Cause) -> Cause:
    return cause._replace(signature=replace(cause.signature, role=Role.FOLLOWS))


def _role(row: Signature, after: Signature | None) -> Role:
    """What a cause is worth that shows up after a failure: an operator's error explains it, a busy port does not."""
    if after is None or row.role is not Role.ROOT or row.category not in _OF_ITS_OWN:
        return row.role
    if row.category == "distributed":
        return Role.FOLLOWS
    return row.role if after.role is Role.FOLLOWS or after.category in _PROGRAM else Role.SYMPTOM


def _literal(cause: Cause) -> int:
    """The longest literal of the row on the line: of two rows that fit one line, the one with more words is better."""
    line = cause.first.text.encode()
    return max((len(needle) for needle in cause.signature.needles if needle in line), default=0)


def _is_failure(signature: Signature) -> bool:
    return signature.level is Level.ERROR and signature.role in _FAILURES


def _is_later(begin: Occurrence, item: Occurrence) -> bool:
    if begin.time and item.time:
        days = (item.time.month - begin.time.month) * 31 + item.time.day - begin.time.day
        return days * 86400 + item.time.second - begin.time.second > _LATER
    return begin.order == item.order and item.line - begin.line > 100 * _LATER


def _blamed_by_torchrun(causes: list[Cause]) -> int | None:
    """torchrun itself names the process that ended first."""
    headings = [cause.first for cause in causes if Trait.FIRST_PROCESS in cause.signature.traits]
    processes = [item for cause in causes if Trait.PROCESS in cause.signature.traits for item in cause.occurrences]
    return next(
        (
            process.rank
            for heading in headings
            for process in processes
            if process.order == heading.order and 0 < process.line - heading.line <= _ROOT_ROWS
        ),
        None,
    )


def _first_rank(causes: list[Cause], blamed: int | None) -> int | None:
    """The rank of the best explanation; where that only waited for others, the one that torchrun names."""
    ranks = {item.rank for cause in causes for item in cause.occurrences if item.rank is not None}
    if not causes or (len(ranks) < 2 and blamed is None):
        return None
    best = causes[0]
    if blamed is not None and (best.signature.role in (Role.FOLLOWS, Role.WRAPPER) or best.first.rank is None):
        return blamed
    return best.first.rank


def _silent(causes: list[Cause], files: tuple[LogFile, ...]) -> tuple[int, ...]:
    """Of ranks with a file of their own: those without an error, while the others only waited."""
    if not causes or causes[0].signature.role is not Role.FOLLOWS:
        return ()
    failed = {item.rank for cause in causes if cause.signature.level is Level.ERROR for item in cause.occurrences}
    return tuple(sorted({file.rank for file in files if file.rank is not None} - failed))
