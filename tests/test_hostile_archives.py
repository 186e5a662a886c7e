"""Hostile archives, profiles, records, models and requests: refused by name, read within bounds, never run."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import hostile_input
from hostile_input import DEEP, OBJECTS, Run, archive, dump, harmless, lying, refused
from jumar.core import read


@pytest.fixture(autouse=True)
def _alarm() -> Iterator[None]:
    with hostile_input.alarm():
        yield


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bombs of a few megabytes are bombs: the tests are quicker."""
    monkeypatch.setattr(read, "FREE", 1 << 20)


# -- archives and packed files


def test_archives_of_a_self_test(jumar: Run, tmp_path: Path) -> None:
    cases = (
        archive(tmp_path / "bomb.zip", {"selftest.json": bytes(65 << 20)}),
        archive(tmp_path / "deep.zip", {"selftest.json": DEEP.encode()}),
        archive(tmp_path / "other.zip", {"../../selftest.json": b"{}"}),
        archive(tmp_path / "list.zip", {"selftest.json": b"[]"}),
        lying(tmp_path / "lie.zip"),
    )
    for path in cases:
        assert "is no archive of `jumar selftest`" in refused(jumar("selftest", "read", path)), path.name


def test_stand_ins_of_an_offline_model(jumar: Run, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    stored = zipfile.ZIP_STORED
    cases = (
        archive(tmp_path / "a.om", {"jumar-om.json": DEEP.encode(), "model.onnx": b""}, stored),
        archive(tmp_path / "b.om", {"jumar-om.json": bytes(40 << 20), "model.onnx": b""}),
        archive(tmp_path / "c.om", {"jumar-om.json": b"[]", "model.onnx": b""}),
        archive(tmp_path / "d.om", {"model.onnx": b""}),
    )
    for path in cases:
        assert "not an `.om` stand-in" in refused(jumar("export", "run", path)), path.name


@pytest.mark.usefixtures("small")
def test_a_package_that_unpacks_without_end(tmp_path: Path) -> None:
    from jumar.machine.plan import packages

    path = archive(tmp_path / "cann.zip", {"installer.run": bytes(9 << 20)})
    assert "more than 300 times its size" in str(packages._broken_archive(path))
    assert "not a readable archive" in str(packages._broken_archive(lying(tmp_path / "lie.zip"))) or "checksum" in str(
        packages._broken_archive(tmp_path / "lie.zip")
    )


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gz", "bz2", "xz"])
def test_logs_that_unpack_without_end(pack: Callable[[bytes], bytes], jumar: Run, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(pack(b"0123456 loss\n" * 9999) * 40)
    done = jumar("explain", tmp_path / "a.log")
    assert "unpacks to more than 300 times its size" in harmless(done) + done.out


@pytest.mark.usefixtures("small")
def test_a_trace_that_unpacks_without_end(jumar: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b'{"traceEvents":[' + b" " * (9 << 20)))
    assert "more than 300 times its size" in refused(jumar("perf", "read", tmp_path / "a.json.gz"))


def test_a_trace_that_nests(jumar: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(f'{{"traceEvents":[{{"ph":"X","name":"a","args":{DEEP}}}]}}')
    harmless(jumar("perf", "read", tmp_path / "a.json"))


# -- folders of profiles, records and dumps


def test_a_profile_of_pipes_and_nests(jumar: Run, tmp_path: Path) -> None:
    output = tmp_path / "p_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    os.mkfifo(tmp_path / "p_ascend_pt" / "profiler_metadata.json")
    os.mkfifo(output / "step_trace_time.csv")
    (output / "communication.json").write_text(DEEP)
    (output / "kernel_details.csv").write_text('Name,Duration(us)\n"' + "x" * (3 << 20))
    harmless(jumar("perf", "read", tmp_path))
    harmless(jumar("report", tmp_path, "-o", tmp_path / "site"))


def test_a_database_is_only_read(jumar: Run, tmp_path: Path) -> None:
    import sqlite3

    output = tmp_path / "p_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    file = output / "ascend_pytorch_profiler_0.db"
    link = sqlite3.connect(file)
    link.execute("CREATE TABLE STRING_IDS (id INTEGER, value TEXT)")
    link.execute("CREATE TABLE TASK (a, b GENERATED ALWAYS AS (zeroblob(1000000000)))")
    link.execute("INSERT INTO STRING_IDS VALUES (1, zeroblob(5000000))")
    link.execute("INSERT INTO TASK (a) VALUES (1)")
    link.commit()
    link.close()
    before = file.read_bytes()
    harmless(jumar("perf", "read", tmp_path))
    (output / "cut.db").write_bytes(before[:5000])
    harmless(jumar("perf", "read", output / "cut.db"))
    assert file.read_bytes() == before and sorted(os.listdir(output)) == ["ascend_pytorch_profiler_0.db", "cut.db"]


def _record(folder: Path, **files: str | None) -> Path:
    rank = folder / "rank0"
    rank.mkdir(parents=True)
    meta = {"format": 1, "rank": 0, "torch": "", "device": "", "dtype": "", "jumar": "1"}
    for name, text in {"meta.json": json.dumps(meta), **files}.items():
        if text is None:
            os.mkfifo(rank / name)
        else:
            (rank / name).write_text(text)
    return folder


def test_records(jumar: Run, tmp_path: Path) -> None:
    bomb = zlib.compress(bytes(257 << 20), 1)
    step = b"JREC1\n" + struct.pack("<QI", len(bomb), zlib.crc32(bomb)) + bomb
    cases = (
        _record(tmp_path / "a", **{"curve.jsonl": None}), _record(tmp_path / "b", **{"curve.jsonl": DEEP}),
        _record(tmp_path / "c", **{"meta.json": DEEP}), _record(tmp_path / "d", **{"meta.json": None}),
        _record(tmp_path / "e"),
    )  # fmt: skip
    (tmp_path / "e" / "rank0" / "step-00000.jrec").write_bytes(step)
    for path in cases:
        refused(jumar("compare", "diff", path, path))
        harmless(jumar("report", path, "-o", tmp_path / "site"))


def test_dumps_of_the_vendor(jumar: Run, tmp_path: Path) -> None:
    dump(tmp_path, "x.npy")
    rank = tmp_path / "dump" / "step0" / "rank0"
    (rank / "stack.json").write_text(DEEP)
    refused(jumar("compare", "diff", tmp_path / "dump", tmp_path / "dump"))
    (rank / "stack.json").unlink()
    (rank / "dump.json").write_text(f'{{"data":{{"a":{OBJECTS}}}}}')
    refused(jumar("compare", "diff", tmp_path / "dump", tmp_path / "dump"))


def test_sources_of_a_site(jumar: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(f'{{"tool":{{"name":"jumar"}},"jumar":1,"kind":"analyze","x":{DEEP}}}')
    page = '<meta name="generator" content="jumar 1"><script id="jumar-page">{}</script>'
    (tmp_path / "b.html").write_text(page.format(DEEP))
    (tmp_path / "c.html").symlink_to("/dev/zero")
    done = jumar("report", tmp_path, "-o", tmp_path / "site")
    harmless(done)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "site.json").write_text(DEEP)
    harmless(jumar("report", tmp_path, "-o", tmp_path / "old"))


# -- models


def _model(external: dict[str, str] | None = None, depth: int = 0) -> bytes:
    onnx = pytest.importorskip("onnx")
    make = onnx.helper
    value = make.make_tensor_value_info
    tensor = onnx.TensorProto(name="w", data_type=1, dims=[1])
    if external is None:
        tensor.float_data.append(1)
    else:
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, text in external.items():
            tensor.external_data.add(key=key, value=text)
    graph = make.make_graph([make.make_node("Add", ["x", "w"], ["y"])], "g", [value("x", 1, [1])],
                            [value("y", 1, [1])], [tensor])  # fmt: skip
    for _ in range(depth):
        node = make.make_node("If", ["x"], ["y"], then_branch=graph, else_branch=graph)
        graph = make.make_graph([node], "g", [], [value("y", 1, [1])])
    return bytes(make.make_model(graph).SerializeToString())


def test_data_of_a_model_stays_in_its_folder(jumar: Run, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(b"1234")
    (folder / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "pipe")
    (folder / "short").write_bytes(b"1")
    (folder / "huge").touch()
    os.truncate(folder / "huge", 8 << 30)
    cases: tuple[dict[str, str], ...] = (
        {"location": "../secret"}, {"location": str(tmp_path / "secret")}, {"location": "link"}, {"location": "pipe"},
        {"location": ""}, {}, {"location": "short", "length": "99"}, {"location": "short", "offset": "-1"},
        {"location": "short", "offset": "9" * 30}, {"location": "a\0b"}, {"location": "huge"},
    )  # fmt: skip
    for external in cases:
        (folder / "m.onnx").write_bytes(_model(external))
        harmless(jumar("export", "check", folder / "m.onnx"))
        refused(jumar("export", "om", folder / "m.onnx", "--soc", "310P3", "--output", tmp_path / "out"))


def test_models_that_are_damaged_or_nest(jumar: Run, tmp_path: Path) -> None:
    good = _model()
    for data in (good[:-3], b"\x0a" * 1000, b"\xff" * 100, _model(depth=8), b"\x3a\xff\xff\xff\xff\x0f" + good):
        (tmp_path / "m.onnx").write_bytes(data)
        harmless(jumar("export", "check", tmp_path / "m.onnx"))
    os.mkfifo(tmp_path / "pipe.onnx")
    refused(jumar("export", "check", tmp_path / "pipe.onnx"))


# -- the stand-in's servers


def test_xml_with_declarations_is_refused() -> None:
    from jumar.cloud.standin.objects import tree
    from jumar.cloud.standin.signature import Denied

    bomb = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "x"><!ENTITY c "&b;&b;">]><a>&c;</a>'
    file = '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'
    for text in (bomb, file):
        for encoding in ("utf-8", "utf-16", "utf-16-le", "utf-16-be"):
            with pytest.raises(Denied):
                tree(text.encode(encoding))
    with pytest.raises(Denied):
        tree(b'<?xml version="1.0" encoding="nothing"?><a/>')
    assert tree(b"<a><Key>x</Key></a>").tag == "a"
