"""The signatures of known errors, and the names behind their codes."""

from __future__ import annotations

import re
from dataclasses import field, replace
from functools import cache
from typing import Any

from jumar.core.compat import StrEnum, dataclass
from jumar.core.finding import Level, State
from jumar.core.lang import t
from jumar.tables import error_threads, third_party
from jumar.tables.error_words import Form, Words, fields
from jumar.tables.load import table


class Role(StrEnum):
    """What a signature says about a failure; the order is that of an explanation."""

    ROOT = "root"
    SYMPTOM = "symptom"
    DETAIL = "detail"
    SAID = "said"
    GENERIC = "generic"
    FOLLOWS = "follows"
    WRAPPER = "wrapper"
    UNKNOWN = "unknown"


class Certainty(StrEnum):
    """How much a match says: the line states what the row says, or the row is one of several possible reasons."""

    STATED = "stated"
    POSSIBLE = "possible"


class Trait(StrEnum):
    """What the order of an explanation must know of a row beside its role; data/errors.toml explains each."""

    MISMATCH = "mismatch"
    PRINTED_VERSIONS = "printed-versions"
    FOLLOWS_MISMATCH = "follows-mismatch"
    OTHER_VERSION = "other-version"
    FIRST_PROCESS = "first-process"
    PROCESS = "process"
    MODULE_CODE = "module-code"


@dataclass(frozen=True, slots=True)
class Signature:
    """A row of data/errors.toml; its head says what each field means."""

    id: str
    category: str
    level: Level
    role: Role
    certainty: Certainty
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
    lines: int
    broad: bool
    near: str
    is_thread: bool
    """Is it one particular failure, known from a thread? It knows more than a row about the form of the line."""
    traits: frozenset[Trait] = frozenset()
    is_filled: bool = False
    """Do its words hold what the line says?"""
    form: Form | None = field(default=None, compare=False)
    """What they are made of."""

    @property
    def is_form(self) -> bool:
        """Are its words filled from the line?"""
        return bool(fields(self.what + self.why))


@dataclass(frozen=True, slots=True)
class Note:
    """A row of data/error_notes.toml: what one code, library or module of a lookup means."""

    match: str
    what: str
    why: str
    do: tuple[str, ...]
    role: Role | None
    source: str


@dataclass(frozen=True, slots=True)
class Program:
    """A kind of program, known by the words of its log, and what a person needs to find an unknown error of it."""

    kind: str
    match: str
    collect: tuple[str, ...]


CODE = (
    r"(?:[Ee]rror(?: ?[Cc]ode)?(?: is)? ?[:=(\[]? ?|[Cc]ode ?[:=(] ?|[Rr]et(?:_int|[cC]ode)? ?[:=\[(]? ?"
    r"|[Ss]tatus ?[:=]? ?|result ?= ?|ErrCode=|errcode: ?|errno:? ?|failure ?|failed ?[:,]? ?|failed with ?|model: ?)"
)
"""What stands before the number of a failed call; rows write `(?&code)` for it."""


class Code(StrEnum):
    """The lists in which a code can stand."""

    ACL = "acl"
    CANN = "cann"
    HCCL = "hccl"


class Lookup(StrEnum):
    """What else a signature can look up: the kinds of data/error_notes.toml that are not codes with names."""

    AICORE = "aicore"
    DCMI = "dcmi"
    LIBRARY = "library"
    MINDIE = "mindie"
    MODULE = "module"
    NAME = "name"
    """Only shown."""
    REASON = "reason"
    SYMBOL = "symbol"


@cache
def signatures() -> dict[str, Signature]:
    rows = {**table("errors.toml")["errors"], **table("error_forms.toml")["errors"], **error_threads.rows()}
    return {id_: _signature(id_, row) for id_, row in rows.items()}


def with_trait(trait: Trait) -> Signature:
    """The one row that has a trait."""
    (row,) = (row for row in signatures().values() if trait in row.traits)
    return row


def pattern(signature: Signature) -> re.Pattern[str]:
    """Compiled on first use: most signatures never meet a line."""
    return _compiled(signature.match)


@cache
def _compiled(match: str) -> re.Pattern[str]:
    return re.compile(match.replace("(?&code)", CODE).replace("(?&reason)", reasons()))


@cache
def reasons() -> str:
    """Words by which a message states its reason; rows write `(?&reason)` for them."""
    return "(?i:" + "|".join(table("error_forms.toml")["words"]["reason"]) + ")"


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


def note(kind: str, code: str) -> Note | None:
    """What is known about a code, library or module: the first row that fits it, or its name."""
    if kind == Lookup.MODULE and (made_for_cuda := _made_for_cuda(code)):
        return made_for_cuda
    words = (code, code_name(kind, code) or code)
    return next((row for row in notes().get(kind, ()) if any(re.fullmatch(row.match, word) for word in words)), None)


@cache
def notes() -> dict[str, tuple[Note, ...]]:
    """The rows of data/error_notes.toml by kind."""
    kinds = table("error_notes.toml")["notes"]
    return {kind: tuple(map(_note, rows)) for kind, rows in kinds.items()}


@cache
def programs() -> tuple[Program, ...]:
    """Kinds of programs; the last one, with an empty pattern, is any other."""
    rows = table("error_notes.toml")["programs"]
    return tuple(Program(row["kind"], row["match"], tuple(row["collect"])) for row in rows)


@cache
def families() -> dict[str, str]:
    """Kinds of software, which are categories of rows, and the words by which a log speaks of them."""
    return {row["category"]: row["words"] for row in table("error_notes.toml")["families"]}


def noted(signature: Signature, code: str) -> Signature:
    """The signature with what is known about the code that was found: a code alone is never the whole reason."""
    row = note(signature.lookup, code) if code else None
    if row is None:
        return signature
    guess = bool(row.what) and signature.lookup in list(Code)
    return replace(
        signature,
        certainty=Certainty.POSSIBLE if guess else signature.certainty,
        what=row.what or signature.what,
        why=row.why,
        do=row.do,
        role=row.role or signature.role,
        source=row.source or signature.source,
    )


def filled(signature: Signature, values: dict[str, str]) -> Signature:
    """The signature with `{name}` replaced by what the line says."""
    if not signature.is_form:
        return signature
    fillings = {"line": signature.id, **values}
    return replace(worded(signature, Form(_words(signature), tuple(fillings.items()))), is_filled=True)


def quoting(signature: Signature, quote: str) -> Signature:
    """The signature behind the log's own words."""
    form = signature.form or Form(_words(signature))
    return worded(signature, form._replace(quote=quote))


def worded(signature: Signature, form: Form) -> Signature:
    """The signature in the words of a form."""
    what, why, do = form.said()
    return replace(signature, what=what, why=why, do=do, form=form)


def words(signature: Signature) -> Words:
    """What it says, in the language of the reader."""
    return (signature.form or Form(_words(signature))).said(t)


def _words(signature: Signature) -> Words:
    return Words(signature.what, signature.why, signature.do)


def codes(kind: str) -> dict[str, str]:
    """All codes of a list with their names."""
    names: dict[str, str] = table("error_codes.json")[kind]
    return names


def _made_for_cuda(module: str) -> Note | None:
    """What migration says about a package that is compiled for CUDA."""
    row = third_party.recipe(module.replace("-", "_"))
    if row is None or row.state is State.BENIGN or not row.fix:
        return None
    made = row.state is State.UNSUPPORTED
    what = "the program needs a package made for CUDA: it has no form for NPUs"
    if not made:
        what = "a package is missing that NPUs need in another form"
    return Note("", what, row.note, (row.fix,), Role.ROOT, row.source)


def _note(row: dict[str, Any]) -> Note:
    role = Role(row["role"]) if "role" in row else None
    return Note(row["match"], row.get("what", ""), row["why"], tuple(row["do"]), role, row.get("source", ""))


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
        certainty=_certainty(row),
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
        lines=int(str(row.get("lines", 1))),
        broad=bool(row.get("broad", False)),
        near=str(row.get("near", "")),
        is_thread=bool(row.get("is_thread", False)),
        traits=frozenset(map(Trait, words("traits"))),
    )


def _certainty(row: dict[str, object]) -> Certainty:
    """A row that stands back behind any other is a guess unless it says that it is none."""
    sure = row.get("certain", not row.get("alone", False))
    return Certainty.STATED if sure else Certainty.POSSIBLE
