"""The table of errors: complete rows, and literals that no matching line can do without."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest

from jumar.core.finding import Level
from jumar.machine.explain import facts
from jumar.tables import environment, errors
from jumar.tables.errors import Code, Lookup, Signature
from jumar.tables.load import table

ROWS = list(errors.signatures().values())
_CODE = re.compile(rb"E(?:[A-Z1-9]\d{4}|RR\d{5}|\d{3,4} +\d\d:)")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_example_fits_its_own_row(row: Signature) -> None:
    assert errors.pattern(row).search(row.example)
    assert row.what and row.why and row.source and row.do
    assert row.what[0] not in ".," and not row.what.endswith(".")
    assert re.fullmatch(r"[A-Z0-9_]+", row.id)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_matching_line_has_a_literal(row: Signature) -> None:
    """Tried on texts made from the pattern: each branch, each option with and without."""
    assert all(len(needle) >= 4 for needle in row.needles), "shorter ones cannot be searched"
    texts = [
        text for text in itertools.islice(_texts(errors.pattern(row).pattern), 3000) if errors.pattern(row).search(text)
    ]
    assert texts
    for text in texts:
        raw = text.encode()
        if row.needles:
            assert any(needle in raw for needle in row.needles), text
        else:
            assert _CODE.search(raw), text


def test_rows_are_sorted_and_lookups_exist() -> None:
    names = [list(table(name)["errors"]) for name in ("errors.toml", "error_forms.toml")]
    assert all(part == sorted(part) for part in names) and not set(names[0]) & set(names[1])
    ids = {id_ for part in names for id_ in part}
    for row in ROWS:
        assert not row.lookup or (row.lookup in [*Code, *Lookup] and errors.pattern(row).groups >= 1)
        assert row.level in list(Level)
        assert set(row.explains) <= set(ids)
        assert not row.when or facts.hold(row.when, facts.of(_match(row)))


def _match(row: Signature) -> re.Match[str]:
    found = errors.pattern(row).search(row.example)
    assert found
    return found


def test_codes_have_names_and_areas() -> None:
    assert errors.code_name("acl", "507015") == "ACL_ERROR_RT_AICORE_EXCEPTION"
    assert errors.code_name("cann", "EI0006") == "Communication_Error_Get_Socket"
    assert errors.code_name("hccl", "9") == "HCCL_E_TIMEOUT"
    assert errors.code_name("acl", "999999") is None
    assert errors.code_area("cann", "EI0006").startswith("HCCL")
    assert "internal error" in errors.code_area("acl", "507015")
    assert errors.code_area("hccl", "9") == ""
    assert len(errors.codes("acl")) > 240 and len(errors.codes("cann")) > 300


def test_variables_of_an_npu_machine() -> None:
    rows = environment.npu_variables()
    assert list(rows) == sorted(rows)
    assert rows["HCCL_CONNECT_TIMEOUT"].default == "120"
    assert all(row.source.startswith("https://") and row.what for row in rows.values())
    assert not set(rows) & set(environment.variables())


def _texts(pattern: str) -> Iterator[str]:
    import sys

    if sys.version_info >= (3, 11):
        import re._parser as parser
    else:
        import sre_parse as parser

    return _sequence(list(parser.parse(pattern)))


def _sequence(parts: list[Any]) -> Iterator[str]:
    if not parts:
        yield ""
        return
    for head in _part(*parts[0]):
        for tail in _sequence(parts[1:]):
            yield head + tail


def _part(kind: Any, value: Any) -> Iterator[str]:
    name = str(kind)
    if name == "LITERAL":
        yield chr(value)
    elif name == "NOT_LITERAL" or name == "ANY":
        yield "~"
    elif name == "SUBPATTERN":
        yield from _sequence(list(value[3]))
    elif name == "BRANCH":
        for branch in value[1]:
            yield from _sequence(list(branch))
    elif name in ("MAX_REPEAT", "MIN_REPEAT"):
        least, most, inner = value
        for times in {least, min(int(most), max(least, 1))}:
            yield from (text * times for text in itertools.islice(_sequence(list(inner)), 12))
    elif name == "IN":
        yield from _members(value)
    else:
        yield ""


def _members(members: list[Any]) -> Iterator[str]:
    examples = {"CATEGORY_DIGIT": "7", "CATEGORY_WORD": "w", "CATEGORY_SPACE": " ", "CATEGORY_NOT_SPACE": "x"}
    if str(members[0][0]) == "NEGATE":
        yield "~"
        return
    for kind, value in members[:3]:
        if str(kind) == "LITERAL":
            yield chr(value)
        elif str(kind) == "RANGE":
            yield chr(value[1])
        else:
            yield examples[str(value)]
