"""`python3 -m ais_bench` and what its Python side takes: raw bytes, dictionaries, files, gears."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from onnx_models import tiny

from jumar.export.standin import aclruntime, program
from jumar.export.standin.bench.main import main
from jumar.export.standin.session import InferSession
from jumar.export.standin.tensor import BaseTensor

Jumar = Callable[..., Any]
Save = Callable[..., Path]
X = numpy.linspace(-1, 1, 192, dtype="float32").reshape(1, 3, 8, 8)


@pytest.fixture
def om(jumar: Jumar, save: Save) -> Callable[..., Path]:
    def make(*words: str, batch: int | str = 1) -> Path:
        source = save(tiny(batch=batch))
        done = jumar("export", "om", source, "--soc", "310P3", *words)
        assert done.code == 0, done.err
        return source.with_suffix(".om")

    return make


@pytest.mark.parametrize("raw", ["int8", "uint8", "float64", "int32"])
def test_bytes_of_another_type_are_taken_as_they_are(om: Callable[..., Path], raw: str) -> None:
    path = om()
    expected = program.load(path).execute([X])[0]
    flat = numpy.frombuffer(X.tobytes(), raw)
    assert numpy.array_equal(InferSession(0, str(path)).infer([flat])[0], expected)
    assert numpy.array_equal(InferSession(0, str(path)).infer({"x": flat})[0], expected)
    with pytest.raises(RuntimeError, match=r"is float32|has shape"):
        InferSession(0, str(path)).infer([flat[:-1]])


def test_an_array_of_another_type_is_taken_with_a_warning(om: Callable[..., Path]) -> None:
    path = om()
    with pytest.warns(RuntimeWarning, match="without a conversion, as on a device"):
        found = InferSession(0, str(path)).infer([numpy.ones((1, 3, 8, 8), "int32")])
    assert numpy.array_equal(
        found[0], program.load(path).execute([numpy.ones((1, 3, 8, 8), "int32").view("float32")])[0]
    )


def test_feeds_by_name(om: Callable[..., Path]) -> None:
    session = aclruntime.InferenceSession(str(om()), 0, aclruntime.session_options())
    tensor = aclruntime.Tensor(numpy.frombuffer(bytearray(session.get_inputs()[0].realsize)))
    name = session.get_outputs()[0].name
    assert numpy.array(session.run([name], {"x": tensor})[0]).shape == (1, 4)
    assert int(session.get_inputs()[0].datatype) == 0 and "x: float32" in repr(session)
    with pytest.raises(RuntimeError, match="no input `y`: x"):
        session.run([name], {"y": tensor})
    with pytest.raises(RuntimeError, match="input `x` is missing"):
        session.run([name], {})
    pointed = BaseTensor(X.__array_interface__["data"][0], X.nbytes)
    (found,) = session.run([], [pointed])
    assert numpy.array_equal(numpy.array(found), InferSession(0, session._session.model_path).infer([X])[0])


def test_a_gear_that_was_set_gives_bytes_their_shape(om: Callable[..., Path]) -> None:
    session = InferSession(0, str(om("--batch", "1,4", batch="n")))
    assert session.get_inputs()[0].realsize == session.get_inputs()[0].size == 4 * 768
    session.set_dynamic_batchsize("1")
    assert (session.get_inputs()[0].realsize, session.get_inputs()[0].size) == (768, 4 * 768)
    assert session.run([numpy.zeros(768, "uint8")], out_array=True)[0].shape == (1, 4)
    with pytest.raises(RuntimeError, match=r"\[3\] is not a gear of the model: \[\[1\], \[4\]\]"):
        session.set_dynamic_batchsize(3)


def test_ranges_take_the_shape_that_was_set(om: Callable[..., Path]) -> None:
    session = InferSession(0, str(om("--shape", "x:1~4,3,8,8", batch="n")))
    session.set_dynamic_shape("x:2,3,8,8")
    assert session.run([numpy.zeros(2 * 768, "int8")], out_array=True)[0].shape == (2, 4)
    for text, said in (("x:9,3,8,8", "does not take this shape"), ("y:1,3,8,8", "does not name"), ("x", "not a shape")):
        with pytest.raises(RuntimeError, match=said):
            session.set_dynamic_shape(text)


@pytest.mark.parametrize(
    ("options", "batch"),
    [
        ([], 1),
        (["--batch", "2,4"], "n"),
        (["--shape", "x:-1,3,8,8", "--dims", "2;4"], "n"),
        (["--shape", "x:1~4,3,8,8"], "n"),
    ],
)
def test_the_line_that_command_prints_works(
    jumar: Jumar, save: Save, om: Callable[..., Path], options: list[str], batch: Any
) -> None:
    path = om(*options, batch=batch)
    line = jumar("export", "command", path.with_suffix(".onnx"), "--soc", "310P3", *options).out.splitlines()[-1]
    words = shlex.split(line)
    assert words[:3] == ["python3", "-m", "ais_bench"]
    values = {**os.environ, "JUMAR_EMULATE": "1"}
    done = subprocess.run(
        [sys.executable, *words[1:]], env=values, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(
        r"throughput 1000\*batchsize\.mean\(\d\)/NPU_compute_time\.mean\([\d.e-]+\): [\d.]+\n", done.stdout
    )
    assert "not of an NPU" in done.stdout


def test_files_in_and_files_out(om: Callable[..., Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = om("--batch", "1,2", batch="n")
    folder = tmp_path / "in"
    folder.mkdir()
    for number in (1, 2, 10):
        (X * number).tofile(folder / f"s{number}.bin")
    words = ["--model", str(path), "--input", str(folder), "--output", str(tmp_path), "--output_dirname", "out"]
    assert main([*words, "--dymBatch", "2", "--outfmt", "NPY"]) == 0
    assert sorted(one.name for one in (tmp_path / "out").iterdir()) == ["s10_0.npy", "s1_0.npy", "s2_0.npy"]
    pair = program.load(path).execute([numpy.concatenate([X * 10, X * 10])])[0]
    assert numpy.array_equal(numpy.load(tmp_path / "out" / "s10_0.npy"), pair[:1]), "padding repeats the first"
    rows = json.loads((tmp_path / "out_summary.json").read_text())["filesinfo"]
    assert [Path(row["infiles"][0]).name for row in rows.values()] == ["s1.bin", "s2.bin", "s10.bin"]
    assert main([*words[:2], "--input", str(folder / "none.bin"), "--dymBatch", "2"]) == 1
    assert main([*words[:2]]) == 1
    said = capfd.readouterr().out
    assert "no such file" in said and "give --dymBatch" in said
    with pytest.raises(SystemExit) as ended:
        main([*words[:2], "--profiler", "true"])
    assert ended.value.code == 2


def test_names_that_are_not_utf8(om: Callable[..., Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = om()
    strange = os.fsdecode(os.fsencode(tmp_path) + b"/m\xff.om")
    os.rename(path, strange)
    X.tofile(os.fsdecode(os.fsencode(tmp_path) + b"/i\xfe.bin"))
    given = os.fsdecode(os.fsencode(tmp_path) + b"/i\xfe.bin")
    assert main(["--model", strange, "--input", given, "--output", str(tmp_path), "--output_dirname", "o"]) == 0
    assert [os.fsencode(name) for name in os.listdir(tmp_path / "o")] == [b"i\xfe_0.bin"]
    assert main(["--model", strange + "x"]) == 1
    assert "m\\udcff" in capfd.readouterr().out


def test_the_printed_line_names_the_file_in_any_bytes(jumar: Jumar, save: Save) -> None:
    source = save(tiny())
    strange = os.fsdecode(os.fsencode(source.parent) + b"/it's \xff.onnx")
    os.rename(source, strange)
    lines = jumar("export", "command", strange, "--soc", "310P3").out.splitlines()
    for line, word in ((lines[0], b"--model=" + os.fsencode(strange)), (lines[1], os.fsencode(strange)[:-5] + b".om")):
        said = subprocess.run(["bash", "-c", f"printf '%s\\n' {line}"], capture_output=True, check=True).stdout
        assert word in said.split(b"\n")
