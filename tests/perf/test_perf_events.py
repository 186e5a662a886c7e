"""Traces are read piece by piece, whatever their form, and what is broken costs only itself."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from jumar.core.errors import UserError
from jumar.perf.readers import events
from jumar.perf.readers.events import Events

MANY = [
    {"ph": "X", "name": f"算子{n}", "ts": n, "args": {"x": [{"y": n}, {"z": "}, {"}], "s": 'a"}, {"b'}}
    for n in range(300)
]


@pytest.fixture(autouse=True, params=[64, 1000, 1 << 20])
def _chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "CHUNK", request.param)


def _read(path: Path, data: bytes) -> tuple[list[object], Events]:
    path.write_bytes(data)
    reader = Events(path)
    return [event for piece in reader for event in piece], reader


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("form", ["list", "object", "object with more"])
def test_every_form_gives_the_same_events(tmp_path: Path, form: str, indent: int | None) -> None:
    document: object = MANY
    if form != "list":
        document = {"schemaVersion": 1, "deviceProperties": [{"id": 0}, {"id": 1}], "traceEvents": MANY}
    if form == "object with more":
        document = {**document, "traceName": "a]b", "distributedInfo": {"rank": [0, 1]}}  # type: ignore[dict-item]
    found, reader = _read(tmp_path / "t.json", json.dumps(document, indent=indent, ensure_ascii=False).encode())
    assert found == MANY
    assert (reader.skipped, reader.truncated) == (0, False)


def test_packed_trace_and_byte_order_mark(tmp_path: Path) -> None:
    data = json.dumps(MANY).encode()
    assert _read(tmp_path / "t.json.gz", gzip.compress(data))[0] == MANY
    assert _read(tmp_path / "bom.json", b"\xef\xbb\xbf\n" + data)[0] == MANY


def test_truncated_trace_keeps_what_is_whole(tmp_path: Path) -> None:
    data = json.dumps(MANY).encode()
    found, reader = _read(tmp_path / "t.json", data[: len(data) // 2])
    assert 140 < len(found) < 160
    assert found == MANY[: len(found)]
    assert reader.truncated
    packed = gzip.compress(data)
    found, reader = _read(tmp_path / "t.json.gz", packed[: len(packed) // 2])
    assert found == MANY[: len(found)] and reader.truncated


def test_one_broken_event_costs_one_event(tmp_path: Path) -> None:
    data = json.dumps(MANY).encode().replace(b'"ts": 100,', b'"ts": 1\x000,').replace(b'"ts": 200', b'"ts" 200')
    found, reader = _read(tmp_path / "t.json", data)
    assert 290 <= len(found) <= 298
    assert 0 < reader.skipped < 2000


def test_numbers_that_json_does_not_have(tmp_path: Path) -> None:
    found, _ = _read(tmp_path / "t.json", b'[{"ph": "X", "ts": NaN}, {"ph": "X", "ts": 1}]')
    assert len(found) == 2


@pytest.mark.parametrize("data", [b"", b"hello", b"{}", b'{"a": 1}', b"\x00" * 100, b"PK\x03\x04"])
def test_what_is_no_trace_is_said(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(UserError, match="not a trace"):
        _read(tmp_path / "t.json", data)


@pytest.mark.parametrize(
    "data", [b"[" * 100_000, b"[" + b"{" * 300_000, b'[{"a": "' + b"x" * 300_000, b"[{}," * 20_000]
)
def test_hostile_input_ends_soon(tmp_path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MAX_EVENT", 100_000)
    monkeypatch.setattr(events, "CHUNK", 1 << 15)
    found, reader = _read(tmp_path / "t.json", data)
    assert reader.truncated
    assert len(found) <= 20_000
