"""The signatures of known errors, and the names behind their codes."""

from __future__ import annotations

import re
from functools import cache

from jumar.core.compat import StrEnum, dataclass
from jumar.core.finding import Level
from jumar.tables.load import table


class Role(StrEnum):
    """What a signature says about a failure; the order is that of an explanation."""

    ROOT = "root"
    SYMPTOM = "symptom"
    DETAIL = "detail"
    GENERIC = "generic"
    FOLLOWS = "follows"
    WRAPPER = "wrapper"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Signature:
    """A row of data/errors.toml; its head says what each field means."""

    id: str
    category: str
    level: Level
    role: Role
    match: str
    needles: tuple[bytes, ...]
    what: str
    why: str
    do: tuple[str, ...]
    example: str
    seen: bool
    source: str
    lookup: str
    alone: bool
    rank: int
    when: tuple[str, ...]
    explains: tuple[str, ...]


CODE = (
    r"(?:[Ee]rror ?[Cc]ode(?: is ?:?| ?[:=])|failure|result =|ret =|ret\[|ret[cC]ode ?[:=]|ErrCode=|errcode:"
    r"|failed ?:) ?"
)
"""What stands before the number of a failed call; rows write `(?&code)` for it."""


class Code(StrEnum):
    """The lists in which a code can stand."""

    ACL = "acl"
    CANN = "cann"
    HCCL = "hccl"


@cache
def signatures() -> dict[str, Signature]:
    rows = table("errors.toml")["errors"]
    return {id_: _signature(id_, row) for id_, row in rows.items()}


@cache
def pattern(signature: Signature) -> re.Pattern[str]:
    """Compiled on first use: most signatures never meet a line."""
    return re.compile(signature.match.replace("(?&code)", CODE))


def code_name(kind: str, code: str) -> str | None:
    """The vendor's name of a code, such as ACL_ERROR_RT_AICORE_EXCEPTION."""
    name: str | None = table("error_codes.json").get(kind, {}).get(code)
    return name


def code_area(kind: str, code: str) -> str:
    """What the first characters of a code say about where it comes from."""
    codes = table("error_codes.json")
    if kind == Code.ACL:
        return str(codes["acl_first_digit"].get(code[:1], ""))
    return str(codes["cann_modules"].get(code[:2], "")) if kind == Code.CANN else ""


def codes(kind: str) -> dict[str, str]:
    """All codes of a list with their names."""
    names: dict[str, str] = table("error_codes.json")[kind]
    return names


def _signature(id_: str, row: dict[str, object]) -> Signature:
    def words(name: str) -> list[str]:
        value = row.get(name, [])
        assert isinstance(value, list)
        return value

    return Signature(
        id=id_,
        category=str(row["category"]),
        level=Level(str(row["level"])),
        role=Role(str(row.get("role", "root"))),
        match=str(row["match"]),
        needles=tuple(word.encode() for word in words("needles")),
        what=str(row["what"]),
        why=str(row["why"]),
        do=tuple(words("do")),
        example=str(row["example"]),
        seen=bool(row.get("seen", False)),
        source=str(row["source"]),
        lookup=str(row.get("lookup", "")),
        alone=bool(row.get("alone", False)),
        rank=int(str(row.get("rank", 0))),
        when=tuple(words("when")),
        explains=tuple(words("explains")),
    )
