"""Hostile files for every reader: nothing runs, nothing waits for ever, nothing grows without end, no traceback."""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import hostile_input
import readers
from hostile_input import DEEP, LONG, OBJECTS, Evil, Run, archive, dump, harmless, refused
from jumar.core import read
from jumar.core.errors import UserError


@pytest.fixture(autouse=True)
def _alarm() -> Iterator[None]:
    with hostile_input.alarm():
        yield


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bombs of a few megabytes are bombs: the tests are quicker."""
    monkeypatch.setattr(read, "FREE", 1 << 20)


def test_every_reader_has_a_row() -> None:
    """A new `torch.load`, `zipfile` or `json.loads` belongs into `readers.py`, with a hostile file for it here."""
    found = readers.found()
    known = {**dict.fromkeys(readers.FOREIGN), **readers.OWN, **readers.CAGED, **readers.ELSEWHERE}
    assert {name: calls for name, calls in found.items() if name not in known} == {}
    assert [name for name in known if name not in found] == [], "gone: take the row out"
    assert {name: found[name] for name in readers.FOREIGN} == readers.FOREIGN


# -- files that are none, and texts that nest


@pytest.mark.parametrize("text", [DEEP, OBJECTS, LONG, "{", "\0", '{"a":NaN}'], ids=lambda text: text[:9])
def test_json_that_nests_or_breaks(text: str, jumar: Run, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    for words in (("ranktable", "check"), ("ranktable", "convert"), ("parallel", "--cards", "8"), ("doctor", "--from"),
                  ("selftest", "read"), ("export", "check"), ("net", "check"), ("perf", "read")):  # fmt: skip
        refused(jumar(*words, file))
    for words in (("explain", file), ("compare", "diff", file, file), ("analyze", tmp_path),
                  ("perf", "fix-trace", file, "-o", tmp_path / "fixed.json")):  # fmt: skip
        harmless(jumar(*words))
    (tmp_path / "train.py").write_text("import torch\n")
    refused(jumar("analyze", tmp_path / "train.py", "--baseline", file))


def test_decoding_says_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        read.decoded(DEEP)


def test_pipes_and_devices_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(UserError, match="not a file"):
            read.content(path)
    with pytest.raises(UserError, match="larger than 0 MiB"):
        (tmp_path / "file").write_bytes(b"12345")
        read.content(tmp_path / "file", most=4)


def test_a_project_of_pipes(jumar: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("train.py", "setup.py", "Dockerfile", "run", "run.sh", "config.yaml", "a.ipynb", "k.cu", "a.json",
                 "x.log", "m.onnx", "page.html", "site.json", "requirements.txt", ".jumarignore"):  # fmt: skip
        os.mkfifo(tmp_path / name)
    (tmp_path / "main.py").write_text("import train, torch\n")
    monkeypatch.chdir(tmp_path)
    for words in ((), ("analyze", "."), ("report", "."), ("cloud", "adapt", "main.py"),
                  ("launch", "--print", "--cards", "2", "main.py"),
                  ("cloud", "plan", "--code", ".", "--boot", "main.py")):  # fmt: skip
        harmless(jumar(*words))


@pytest.mark.parametrize(
    "text",
    ["x = " + "-" * 200_000 + "1", "x = a" + ".b" * 100_000, "(" * 50_000, "x = " + "1+" * 100_000 + "1",
     "x = " + "lambda:" * 20_000 + "1", "import torch\n" + "x = torch.cuda" + "[0]" * 50_000, "\0"],
    ids=lambda text: text[:13],
)  # fmt: skip
def test_python_that_nests(text: str, jumar: Run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"{text}\n")
    for words in (("analyze",), ("cloud", "adapt"), ("launch", "--print", "--cards", "2")):
        harmless(jumar(*words, tmp_path / "a.py"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "a: " + "[" * 50_000), ("b.yaml", "".join(f"{' ' * at}k:\n" for at in range(3_000))),
        ("c.yaml", "a: &a [x,x]\n" + "".join(f"{chr(98 + at)}: &{chr(98 + at)} [{f'*{chr(97 + at)},' * 9}]\n"
                                              for at in range(20)) + "device: cuda\n"),
        ("a.ipynb", f'{{"cells":{DEEP}}}'), ("a.sh", "$(" * 50_000 + "cuda"), ("a.toml", f"a = {DEEP}"),
        ("requirements.txt", "torch" + "[" * 50_000), ("Dockerfile", "RUN " + "\\\n" * 50_000 + "pip install torch"),
        ("k.cu", "{" * 100_000 + "__global__ void f();"), ("a.cpp", "(" * 100_000 + "cudaMalloc"),
    ],
    ids=lambda value: value if len(value) < 20 else "",
)  # fmt: skip
def test_other_texts_that_nest(name: str, text: str, jumar: Run, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    harmless(jumar("analyze", tmp_path))


# -- pickles


def test_a_program_of_torch_is_not_unpickled(jumar: Run, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.pt2", "w") as packed:
        for name in ("model/data.pkl", "data/constants/custom_obj_0", "models/model.json", "archive_format"):
            packed.writestr(name, pickle.dumps(Evil(tmp_path / "owned")))
    said = refused(jumar("export", "check", tmp_path / "model.pt2"))
    assert "holds pickled Python" in said
    os.mkfifo(tmp_path / "pipe.pt2")
    refused(jumar("export", "check", tmp_path / "pipe.pt2"))
    assert not (tmp_path / "owned").exists()


def test_tensors_of_a_dump_are_not_unpickled(jumar: Run, tmp_path: Path) -> None:
    torch, numpy = pytest.importorskip("torch"), pytest.importorskip("numpy")
    mark = tmp_path / "owned"
    objects = io.BytesIO()
    numpy.save(objects, numpy.array([Evil(mark)], dtype=object), allow_pickle=True)
    packed = io.BytesIO()
    torch.save(Evil(mark), packed)
    for name, data in (("a.pt", pickle.dumps(Evil(mark))), ("b.pt", packed.getvalue()), ("c.npy", objects.getvalue())):
        dump(tmp_path, name).write_bytes(data)
        harmless(jumar("compare", "diff", tmp_path / "dump", tmp_path / "dump"))
        assert not mark.exists(), name


@pytest.mark.usefixtures("small")
def test_a_tensor_without_end_is_not_computed(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from jumar.runtime import arrays

    torch.save(torch.ones(1).expand(1 << 40), tmp_path / "wide.pt")
    with pytest.raises(ValueError, match="repeats what the file holds"):
        arrays.load_tensor(tmp_path / "wide.pt")
    archive(tmp_path / "bomb.pt", {"bomb/data.pkl": pickle.dumps({}), "bomb/data/0": bytes(9 << 20)})
    with pytest.raises(ValueError, match="unpacks to more"):
        arrays.load_tensor(tmp_path / "bomb.pt")


# -- arrays


def _npy(header: str) -> bytes:
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize(
    "data",
    [
        _npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999,), }"),
        _npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"),
        _npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"),
        _npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + "(" * 30),
        _npy("__import__('os').system('id')"), _npy("[" * 110), b"\x93NUMPY\x09\x00", b"\x93NUMPY", b"",
        b"PK\x05\x06" + bytes(18),
    ],
    ids=["terabytes", "negative", "objects", "nested", "code", "brackets", "version", "cut", "empty", "archive"],
)  # fmt: skip
def test_arrays_that_lie(data: bytes, tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    from jumar.export.standin.bench import files
    from jumar.runtime import arrays

    (tmp_path / "a.npy").write_bytes(data)
    with pytest.raises(ValueError):
        arrays.load_npy(tmp_path / "a.npy")
    with pytest.raises(RuntimeError, match="not a file of numpy"):
        files.content(str(tmp_path / "a.npy"))


def test_an_array_that_is_a_pipe(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    from jumar.runtime import arrays

    os.mkfifo(tmp_path / "a.npy")
    with pytest.raises(ValueError, match="named pipe"):
        arrays.load_npy(tmp_path / "a.npy")
