"""The cases of a row: the line, its neighbours or its values say which of several reasons applies."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

from jumar.core.compat import dataclass
from jumar.tables.errors import Certainty, Role, Signature, quoting
from jumar.tables.load import table


@dataclass(frozen=True, slots=True)
class Case:
    """A row of data/error_cases.toml; its head says what each field means."""

    match: str
    near: str
    values: tuple[tuple[str, str], ...]
    what: str
    why: str
    do: tuple[str, ...]
    certain: bool | None
    role: Role | None


def of(signature: Signature, line: str, nearby: str, values: dict[str, str]) -> int:
    """The number of the first case that fits, or -1."""
    for number, case in enumerate(cases().get(signature.id, ())):
        if _fits(case, line, nearby, values):
            return number
    return -1


def chosen(signature: Signature, number: int) -> Signature:
    """The row in the words of one of its cases."""
    if number < 0:
        return signature
    case = cases()[signature.id][number]
    certainty = signature.certainty
    if case.certain is not None:
        certainty = Certainty.STATED if case.certain else Certainty.POSSIBLE
    return replace(
        signature,
        certainty=certainty,
        what=case.what or signature.what,
        why=case.why or signature.why,
        do=case.do or signature.do,
        role=case.role or signature.role,
    )


@cache
def cases() -> dict[str, tuple[Case, ...]]:
    """The cases of each row, in order."""
    rows = table("error_cases.toml")["cases"]
    return {id_: tuple(map(_case, items)) for id_, items in rows.items()}


@cache
def bare() -> frozenset[str]:
    """Rows that know a code only: words beside the code are better than theirs."""
    return frozenset(table("error_cases.toml")["bare"]["rows"])


def led(signature: Signature, values: dict[str, str]) -> Signature:
    """A bare row behind the words that stand on its line, or beside its code."""
    said = values.get("words") or values.get("beside", "")
    if not said or signature.id not in bare() or said in signature.what:
        return signature
    certainty = Certainty.STATED if values.get("words") else signature.certainty
    return replace(quoting(signature, said), certainty=certainty)


def _fits(case: Case, line: str, nearby: str, values: dict[str, str]) -> bool:
    if case.match and not re.search(case.match, line):
        return False
    if case.near and not re.search(case.near, nearby):
        return False
    return all(re.fullmatch(pattern, values.get(name, "")) for name, pattern in case.values)


def _case(row: dict[str, Any]) -> Case:
    return Case(
        match=row.get("match", ""),
        near=row.get("near", ""),
        values=tuple(row.get("values", {}).items()),
        what=row.get("what", ""),
        why=row.get("why", ""),
        do=tuple(row.get("do", ())),
        certain=row.get("certain"),
        role=Role(row["role"]) if "role" in row else None,
    )
