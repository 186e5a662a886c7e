"""Source: offsets, encodings and the way back to the file's bytes."""

from __future__ import annotations

import ast
import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumar.core.source import Source, UnreadableError


def test_offsets_follow_ast_in_utf8_bytes() -> None:
    source = Source.from_bytes("a.py", 'é = "héllo" + x\n'.encode(), python=True)
    name = ast.parse(source.data).body[0].value.right  # type: ignore[attr-defined]
    assert source.text(name) == b"x"
    where = source.where(*source.span(name))
    assert (where.line, where.col) == (1, 15)


def test_bom_is_kept_and_not_counted() -> None:
    source = Source.from_bytes("a.py", codecs.BOM_UTF8 + b"x = 1\r\n", python=True)
    assert source.data == b"x = 1\r\n"
    assert source.encode(b"y = 1\r\n") == codecs.BOM_UTF8 + b"y = 1\r\n"
    assert source.newline == b"\r\n"


def test_gbk_offsets_are_those_of_the_utf8_form() -> None:
    raw = '# -*- coding: gbk -*-\nname = "昇腾" + cuda\n'.encode("gbk")
    source = Source.from_bytes("a.py", raw, python=True)
    name = ast.parse(raw).body[0].value.right  # type: ignore[attr-defined]
    assert source.text(name) == b"cuda"
    assert source.encode(source.data) == raw


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"\x00\x01", "it holds NUL bytes and is not text"),
        (b"x = '\xff'\n", "byte 5 is not UTF-8"),
        (b"# coding: nonsense\n", "unknown encoding: nonsense"),
        (b"# coding: ascii\nx = '\xe9'\n", "it cannot be read as `ascii`"),
    ],
)
def test_unreadable_bytes_say_why(raw: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason.replace("`", ".")):
        Source.from_bytes("a.py", raw, python=True)


@pytest.mark.parametrize(("data", "newline"), [(b"a\nb", b"\n"), (b"a\r\nb", b"\r\n"), (b"a\rb", b"\r"), (b"a", b"\n")])
def test_newline_style(data: bytes, newline: bytes) -> None:
    assert Source("a", data).newline == newline


@given(st.text(alphabet="ab昇\n\r\x0c\x1c\u2028 ", max_size=40))
def test_every_offset_has_a_line_and_comes_back(text: str) -> None:
    data = text.encode()
    source = Source("a", data)
    for offset in range(len(data)):
        line = source.line_of(offset)
        start = source.starts[line - 1]
        assert start <= offset
        assert source.offset(line, offset - start) == offset
    assert b"".join(source.line_text(n + 1) for n in range(len(source.starts) - 1)) == data.replace(b"\n", b"").replace(
        b"\r", b""
    )
