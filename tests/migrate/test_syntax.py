"""The tokenizers: exact spans, agreement with the formats' own readers, and no text that stops them."""

from __future__ import annotations

import json as json_module
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import yaml as yaml_module
from hypothesis import given, settings
from hypothesis import strategies as st

from jumar.core.compat import tomllib
from jumar.migrate import embedded
from jumar.migrate.syntax import (
    dockerfile,
    ini,
    json,
    makefile,
    native,
    notebook,
    requirements,
    shell_reader,
    toml,
    yaml,
)
from jumar.migrate.syntax.entry import ConfigEntry, Kind

CALM = settings(deadline=None, max_examples=60)
MESSY = st.text(alphabet=" \t\n\r\\'\"$`#{}[]()<>|&;:=,-!%~abcCUDA0é/.*?@_+", max_size=120)
NAMES = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
PLAIN = st.one_of(
    st.integers(-9, 999), st.booleans(), st.none(), st.sampled_from(["cuda", "cuda:0", "nccl", "a b", "x#y"])
)
TREES = st.recursive(
    PLAIN, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)), max_leaves=8
)


@CALM
@given(MESSY)
def test_shell_reads_anything_with_spans_in_order(text: str) -> None:
    data = text.encode()
    script = shell_reader.parse(data)
    for command in script.commands:
        assert 0 <= command.start <= command.end <= len(data)
        last = command.start
        for word in command.words:
            assert last <= word.start <= word.end <= len(data)
            last = word.end
        for assignment in command.assignments:
            assert data[assignment.start : assignment.name_end].decode() == assignment.name
            assert assignment.name_end <= assignment.value.start <= assignment.value.end <= len(data)
    for reference in script.references:
        assert data[reference.start : reference.end].decode() == reference.name


@CALM
@given(st.lists(st.text(alphabet="ab c'\"$\\;|&#=-é", min_size=1, max_size=8), min_size=1, max_size=5))
def test_shell_words_survive_quoting(words: list[str]) -> None:
    data = ("run " + " ".join(shlex.quote(word) for word in words)).encode()
    (command,) = [command for command in shell_reader.parse(data).commands if command.name == "run"]
    assert [word.text for word in command.words[1:]] == words


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_shell_shapes(newline: str) -> None:
    text = newline.join(
        [
            "export A=1 B='x y'  # note",
            'if [ -n "$A" ]; then C=2 run --x=y \\',
            "    tail; fi",
            "N=$(count | sort)",
            "ARGS=(--a b  # c",
            "  c)",
            "cat <<'END' > out",
            "body $A",
            "END",
            "last",
        ]
    )
    data = text.encode()
    script = shell_reader.parse(data)
    names = [command.name for command in script.commands]
    assert names == ["export", "[", "run", "", "count", "sort", "", "--a", "cat", "last"]
    run = script.commands[2]
    assert [word.text for word in run.words] == ["run", "--x=y", "tail"]
    (heredoc,) = script.commands[-2].heredocs
    assert data[heredoc.start : heredoc.end].strip() == b"body $A" and heredoc.is_literal
    assert [data[start:end] for start, end in script.comments] == [b"# note", b"# c"]


def test_template_braces_do_not_open_quotes() -> None:
    script = shell_reader.parse(b"A=${{ f('{}').x }}\nrun cuda\n")
    assert [command.name for command in script.commands] == ["", "run"]


def scalars(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from scalars(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from scalars(inner, (*path, "[]"))
    else:
        yield path, value


def values(entries: Iterator[ConfigEntry]) -> list[tuple[tuple[str, ...], str]]:
    return [(entry.path, entry.value) for entry in entries if entry.kind is not Kind.OPEN]


@CALM
@given(st.dictionaries(NAMES, TREES, max_size=4), st.sampled_from([None, 2]))
def test_json_agrees_with_the_standard_library(tree: dict[str, Any], indent: int | None) -> None:
    data = json_module.dumps(tree, indent=indent).encode()
    expected = [(path, json_module.dumps(value).strip('"')) for path, value in scalars(tree)]
    assert values(json.entries(data)) == expected
    for entry in json.entries(data):
        assert not entry.is_exact or data[entry.start : entry.end].decode() == entry.value


def test_json_with_comments_and_trailing_commas() -> None:
    data = b'{"a": 1, // cuda\n "b": ["x", /* y */ "z",],}'
    assert values(json.entries(data)) == [(("a",), "1"), (("b", "[]"), "x"), (("b", "[]"), "z")]


@CALM
@given(st.dictionaries(NAMES, TREES, min_size=1, max_size=4), st.sampled_from([True, False, None]))
def test_yaml_agrees_with_its_reference_reader(tree: dict[str, Any], flow: bool | None) -> None:
    text = yaml_module.safe_dump(tree, default_flow_style=flow, sort_keys=False, width=10_000)
    data = text.encode()
    found = [
        (entry.path, yaml_module.safe_load(data[entry.start : entry.end].decode()))
        if entry.kind is Kind.PLAIN
        else (entry.path, entry.value)
        for entry in yaml.entries(data)
        if entry.kind is not Kind.OPEN
    ]
    # Scalars that look like keys or are empty are quoted by the writer, so text compares with text.
    assert [(path, str(value)) for path, value in found] == [(path, str(value)) for path, value in scalars(tree)]


def test_yaml_block_scalars_and_comments() -> None:
    data = b"a: |\n  run cuda\n\n  # not yaml\nb: 'it''s' # c\n# d\nc: >-\n  x\n- - 1\n"
    found = list(yaml.entries(data))
    assert (found[0].path, found[0].kind) == (("a",), Kind.BLOCK)
    assert data[found[0].start : found[0].end] == b"  run cuda\n\n  # not yaml\n"
    assert not found[1].is_exact


@CALM
@given(MESSY)
def test_no_text_stops_the_readers(text: str) -> None:
    data = text.encode()
    for reader in (yaml.entries, json.entries, toml.entries, ini.entries):
        for entry in reader(data):
            assert 0 <= entry.start <= entry.end <= len(data)
            assert 0 <= entry.key_start <= entry.key_end <= len(data)
    for line in requirements.lines(data):
        assert data[line.start : line.end].decode() == line.text
    assert all(0 <= part.start <= len(data) for part in makefile.parts(data))
    assert all(0 <= item.start <= item.end <= len(data) for item in dockerfile.instructions(data))
    assert all(data[item.start : item.end].decode("utf-8", "replace") for item in native.items(data))
    notebook.cells(data)


def test_kernel_behind_launch_bounds_has_its_own_name() -> None:
    data = b"""__global__ void one(int n) {}
__global__ __launch_bounds__(kThreads) void two(int n) {}
__global__ void __launch_bounds__(max(1, 2), 3)
three(int n) {}
"""
    assert [item.name for item in native.items(data) if item.kind == "kernel"] == ["one", "two", "three"]


def test_toml_agrees_with_the_standard_library() -> None:
    text = '[a]\nb = "cuda"  # note\nc.d = [1, "x", [true]]\n[[e]]\nf = { g = \'h\', "i j" = 2 }\n'
    text += 'k = """\nmany\nlines"""\n'
    expected = [(path, value) for path, value in scalars(tomllib.loads(text))]
    found = values(toml.entries(text.encode()))
    assert [path for path, _ in found] == [
        tuple(part for part in path if path[0] != "e" or part != "[]") for path, _ in expected
    ]
    assert [value.strip().lower() for _, value in found] == [str(value).strip().lower() for _, value in expected]


def test_ini_lines_of_one_value() -> None:
    data = b"[o]\nkeys =\n    torch ; note\n    numpy\nx: y\n"
    assert values(ini.entries(data)) == [
        (("o", "keys", "[]"), "torch"),
        (("o", "keys", "[]"), "numpy"),
        (("o", "x"), "y"),
    ]


@CALM
@given(st.text(max_size=40))
def test_json_strings_map_every_offset(text: str) -> None:
    for ascii_only in (True, False):
        body = json_module.dumps(text, ensure_ascii=ascii_only)[1:-1].encode("utf-8", "surrogatepass")
        try:
            body.decode()
        except UnicodeDecodeError:
            continue
        piece = embedded.json_string(b'"' + body + b'"', 1, 1 + len(body))
        assert piece.text == text.encode("utf-8", "replace")
        places = [piece.at(offset) for offset in range(len(piece.text) + 1)]
        assert places == sorted(places) and places[0] == 1 and places[-1] == 1 + len(body)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("torch==2.1", "torch"),
        ("Flash_Attn[x]>=2", "flash-attn"),
        ("apex @ git+https://example.org/apex", "apex"),
        ("./local", ""),
        ("https://example.org/x.whl", ""),
    ],
)
def test_project_names(text: str, name: str) -> None:
    assert requirements.project(text) == name


def test_dockerfile_instructions_go_over_lines_and_heredocs() -> None:
    data = b"FROM a\nRUN one \\\n  # note\n  && two\nRUN <<END\nthree\nEND\nENV X=1\n"
    found = [(item.name, data[item.start : item.end]) for item in dockerfile.instructions(data)]
    assert [name for name, _ in found] == ["FROM", "RUN", "RUN", "ENV"]
    assert found[1][1].endswith(b"two") and b"three" in found[2][1]
