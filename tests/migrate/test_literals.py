"""The pieces of string literals, and the true places of nodes inside f-strings."""

from __future__ import annotations

import ast

import pytest

from jumar.core.compat import zip
from jumar.core.source import Source
from jumar.migrate.literals import Segment, pieces, relocate, segments
from jumar.migrate.pyfile import PyFile
from jumar.migrate.settings import Settings


def string(text: str) -> tuple[Source, ast.Constant | ast.JoinedStr]:
    source = Source("s.py", text.encode())
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.Expr) and isinstance(node.value, (ast.Constant, ast.JoinedStr))
    return source, node.value


def bodies(text: str) -> list[str]:
    source, node = string(text)
    found = pieces(source, node)
    assert found is not None
    return [source.data[piece.start : piece.end].decode() for piece in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"cuda"', ["cuda"]),
        ("'cu' \"da\"", ["cu", "da"]),
        ("(\"cu\"  # a \"comment\"\n  r\"da\" \\\n''':0''')", ["cu", "da", ":0"]),
        (r'"a\"b" "c\\"', [r"a\"b", r"c\\"]),
        ('"""a"b\n""c"""', ['a"b\n""c']),
        ("f'{x!r:>{w}}' 'y'", ["{x!r:>{w}}", "y"]),
        ("b'cuda' b''", ["cuda", ""]),
        ("rb'\\'' b'x'", ["\\'", "x"]),
        ("Rf'{{}}\\{x}'", ["{{}}\\{x}"]),
        ("f'{d[\"}\"]}'", ['{d["}"]}']),
        ('f"{x:\'>10}"', ["{x:'>10}"]),
    ],
)
def test_pieces(text: str, expected: list[str]) -> None:
    assert bodies(text) == expected


def test_quotes_of_the_outer_string_inside_a_field() -> None:
    """Python 3.12 allows them; the scan must not depend on the running Python."""
    text = b'f"a{d["k"]}b{f"{x["y"]}"}c"'
    node = ast.Constant("", lineno=1, col_offset=0, end_lineno=1, end_col_offset=len(text))
    source = Source("s.py", text)
    found = pieces(source, node)
    assert found is not None and len(found) == 1
    parts = segments(source, found[0])
    assert parts is not None
    assert [(part.is_text, text[part.start : part.end]) for part in parts] == [
        (True, b"a"),
        (False, b'd["k"]'),
        (True, b"b"),
        (False, b'f"{x["y"]}"'),
        (True, b"c"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f'cuda:{i}'", ["cuda:", "<i>"]),
        ("f'{x=}{y = !r}{z!s:>5}'", ["<x>", "<y >", "<z>", ">5"]),
        ("f'{{{a}}}'", ["{{", "<a>", "}}"]),
        ("f'{ {1: 2}[1] }{(lambda: 3)()}'", ["< {1: 2}[1]>", "<(lambda: 3)()>"]),
        ("f'{a:{b}.{c}}d'", ["<a>", "<b>", ".", "<c>", "d"]),
        ("f'{a != b}{a == b}{a if b else c}'", ["<a != b>", "<a == b>", "<a if b else c>"]),
        ("f'\\N{DIGIT ONE}{x}'", ["\\N{DIGIT ONE}", "<x>"]),
        ("f''", []),
    ],
)
def test_segments(text: str, expected: list[str]) -> None:
    source, node = string(text)
    found = pieces(source, node)
    assert found is not None
    parts = segments(source, found[0])
    assert parts is not None
    shown = [source.data[part.start : part.end].decode() for part in parts]
    assert [t if p.is_text else f"<{t}>" for p, t in zip(parts, shown, strict=True)] == expected


def test_plain_strings_are_one_segment() -> None:
    source, node = string("'{x}'")
    found = pieces(source, node)
    assert found is not None
    assert segments(source, found[0]) == [Segment(True, 1, 4)]


def test_broken_text_is_refused() -> None:
    text = b"f'{a'"
    source = Source("s.py", text)
    node = ast.Constant("", lineno=1, col_offset=0, end_lineno=1, end_col_offset=len(text))
    assert pieces(source, node) is None
    plain = ast.Constant("", lineno=1, col_offset=2, end_lineno=1, end_col_offset=4)
    assert pieces(source, plain) is None


@pytest.mark.parametrize(
    "text",
    [
        "x = f'é{name}昇{other.attr}'\n",
        "x = f'''\n{name}\n  {other.attr:>{width}}'''\n",
        "x = ('a' f'{name}'  # c\n  rf'\\{other.attr!r}' 'b')\n",
        "x = f'{f\"{name}\"}{other.attr=}'\n",
        "x = f'{ ( name ) }{other . attr}{[n for n in name]}'\n",
        "x = f'''{(name,\n other.attr)}'''\n",
    ],
)
def test_nodes_inside_f_strings_get_their_true_places(text: str) -> None:
    source = Source("s.py", text.encode())
    file = PyFile(source, Settings(), ast.parse(text), frozenset())
    assert not file.lost
    for node in file.index.nodes[ast.Name]:
        assert isinstance(node, ast.Name)
        assert file.text(node) == node.id
    for node in file.index.nodes[ast.Attribute]:
        assert isinstance(node, ast.Attribute)
        assert file.attr_span(node) is not None


def test_strings_without_fields_need_no_place() -> None:
    source, node = string("f'cuda'")
    assert isinstance(node, ast.JoinedStr)
    assert relocate(source, [node]) == set()
