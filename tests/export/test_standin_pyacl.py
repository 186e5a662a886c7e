"""Deployment code written for pyACL and the inference runner works on the stand-ins, errors included."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from onnx_models import tiny

from jumar.export.standin import program, pyacl
from jumar.export.standin.pyacl.state import STATE
from jumar.export.standin.session import InferSession

Save = Callable[..., Path]
Jumar = Callable[..., Any]
acl: Any = pyacl
TO_DEVICE, TO_HOST = 1, 2


@pytest.fixture
def om(jumar: Jumar, save: Save, tmp_path: Path) -> Callable[..., Path]:
    def make(*words: str, **model: Any) -> Path:
        done = jumar("export", "om", save(tiny(**model)), "--soc", "310P3", "-o", tmp_path / "net", *words)
        assert done.code == 0, done.err
        return tmp_path / "net.om"

    return make


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("JUMAR_CARDS", "2")
    assert acl.init() == 0
    assert acl.rt.set_device(0) == 0
    yield
    acl.finalize()
    STATE.handles.clear()
    STATE.memory.clear()


def dataset(sizes: list[int], data: list[bytes] | None = None) -> int:
    made: int = acl.mdl.create_dataset()
    for number, size in enumerate(sizes):
        pointer, code = acl.rt.malloc(size, 0)
        assert code == 0
        if data and number < len(data):
            assert acl.rt.memcpy(pointer, size, acl.util.bytes_to_ptr(data[number]), len(data[number]), TO_DEVICE) == 0
        _, code = acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(pointer, size))
        assert code == 0
    return made


def described(path: Path) -> tuple[int, int]:
    model, code = acl.mdl.load_from_file(str(path))
    assert code == 0
    desc = acl.mdl.create_desc()
    assert acl.mdl.get_desc(desc, model) == 0
    return model, desc


def test_the_usual_program(om: Callable[..., Path], device: None) -> None:
    path = om()
    model, desc = described(path)
    assert (acl.mdl.get_num_inputs(desc), acl.mdl.get_num_outputs(desc)) == (1, 1)
    assert acl.mdl.get_input_dims(desc, 0) == ({"name": "x", "dimCount": 4, "dims": [1, 3, 8, 8]}, 0)
    assert acl.mdl.get_output_dims(desc, 0)[0]["dims"] == [1, 4]
    sizes = acl.mdl.get_input_size_by_index(desc, 0), acl.mdl.get_output_size_by_index(desc, 0)
    assert sizes == (768, 16)
    assert (acl.mdl.get_input_data_type(desc, 0), acl.mdl.get_input_format(desc, 0)) == (0, 0)
    assert acl.mdl.get_input_index_by_name(desc, "x") == (0, 0)
    x = numpy.linspace(-1, 1, 192, dtype="float32").reshape(1, 3, 8, 8)
    inputs, outputs = dataset([sizes[0]], [x.tobytes()]), dataset([sizes[1]])
    assert acl.mdl.execute(model, inputs, outputs) == 0
    buffer = acl.mdl.get_dataset_buffer(outputs, 0)
    pointer = acl.get_data_buffer_addr(buffer)
    data = acl.util.ptr_to_bytes(pointer, acl.get_data_buffer_size_v2(buffer))
    view = acl.util.ptr_to_numpy(pointer, (1, 4), 11)
    expected = program.load(path).execute([x])[0]
    assert numpy.array_equal(numpy.frombuffer(data, "float32").reshape(1, 4), expected)
    assert numpy.array_equal(view, expected)
    stream, _ = acl.rt.create_stream()
    assert acl.mdl.execute_async(model, inputs, outputs, stream) == 0
    assert acl.rt.synchronize_stream(stream) == acl.rt.destroy_stream(stream) == 0
    assert acl.rt.free(pointer) == 0 and acl.rt.free(pointer) == 100000
    assert acl.mdl.destroy_desc(desc) == acl.mdl.unload(model) == 0


def test_gears(om: Callable[..., Path], device: None) -> None:
    model, desc = described(om("--batch", "1,2", batch="n"))
    assert acl.mdl.get_num_inputs(desc) == 2
    assert acl.mdl.get_input_name_by_index(desc, 1) == "ascend_mbatch_shape_data"
    assert acl.mdl.get_dynamic_batch(desc) == ({"batchCount": 2, "batch": [1, 2]}, 0)
    assert acl.mdl.get_input_size_by_index(desc, 0) == 2 * 768
    inputs, outputs = dataset([1536, 64], [b"\0" * 1536]), dataset([32])
    assert acl.mdl.set_dynamic_batch_size(model, inputs, 1, 3) == 145013
    assert "is not a gear" in acl.get_recent_err_msg()
    assert acl.mdl.set_dynamic_batch_size(model, inputs, 1, 1) == 0
    assert acl.mdl.execute(model, inputs, outputs) == 0
    assert acl.mdl.get_cur_output_dims(desc, 0)[0]["dims"] == [1, 4]
    assert acl.mdl.get_output_dims(desc, 0)[0]["dims"] == [2, 4]


def test_mistakes_have_the_vendors_numbers(om: Callable[..., Path], device: None, tmp_path: Path) -> None:
    assert acl.init() == 100002
    assert acl.rt.set_device(7) == 107001
    assert acl.mdl.load_from_file(str(tmp_path / "no.om"))[1] == 145002
    model, _ = described(om())
    assert acl.mdl.execute(model + 99, 0, 0) == 145003
    assert acl.mdl.execute(model, dataset([10]), dataset([16])) == 500002
    assert acl.mdl.execute(model, dataset([768]), dataset([4])) == 100000
    assert acl.rt.malloc(0, 0)[1] == 100000
    pointer, _ = acl.rt.malloc(8, 0)
    assert acl.rt.memcpy(pointer, 100, acl.util.bytes_to_ptr(b"x" * 100), 100, TO_HOST) == 100000
    with pytest.raises(AttributeError, match="not in the stand-in"):
        acl.op.create_attr()
    with pytest.raises(AttributeError, match=r"acl\.mdl\.load_from_mem_with_q"):
        acl.mdl.load_from_mem_with_q()


def test_the_session_of_the_runner(om: Callable[..., Path]) -> None:
    path = om()
    session = InferSession(0, str(path))
    assert [(one.name, one.shape, one.realsize) for one in session.get_inputs()] == [("x", [1, 3, 8, 8], 768)]
    x = numpy.ones((1, 3, 8, 8), "float32")
    (found,) = session.infer([x])
    assert numpy.array_equal(found, program.load(path).execute([x])[0])
    assert len(session.infer_pipeline([[x], [x]])) == 2
    assert len(session.summary().exec_time_list) == 3
    for feeds, mode, said in (([x], "dymbatch", "converted for mode 'static'"), ([x], "fast", "wrong infer mode"),
                              ([x[:, :2]], "static", "has shape"), ([x.astype("float64")], "static", "is float32"),
                              ([], "static", "has 1 inputs"), (["x"], "static", "must be an array")):  # fmt: skip
        with pytest.raises(RuntimeError, match=said):
            session.infer(feeds, mode)
    session.free_resource()
    with pytest.raises(RuntimeError, match="was freed"):
        session.infer([x])
    with pytest.raises(RuntimeError, match="no such file"):
        InferSession(0, "nothing.om")


def test_the_session_takes_gears_only(om: Callable[..., Path]) -> None:
    session = InferSession(0, str(om("--batch", "1,4", batch="n")))
    assert session.infer([numpy.ones((4, 3, 8, 8), "float32")], "dymbatch")[0].shape == (4, 4)
    with pytest.raises(RuntimeError, match="fit no gear"):
        session.infer([numpy.ones((3, 3, 8, 8), "float32")], "dymbatch")


def test_modules_are_found_last(tmp_path: Path) -> None:
    """On the emulated machine `import acl` works, but never instead of a real one, and not where emulation is off."""
    code = (
        "import importlib.util as u\n"
        "print([bool(u.find_spec(name)) for name in ('acl', 'ais_bench', 'StreamManagerApi', 'MxpiDataType_pb2')])\n"
        "import acl; print(acl.__doc__, acl.init())\n"
        "if acl.__doc__.startswith('The stand-in'): from acl.rt import memcpy"
    )
    source = str(Path(pyacl.__file__).parents[4])
    clean = {key: value for key, value in os.environ.items() if not key.startswith("JUMAR_")}

    def run(**more: str) -> subprocess.CompletedProcess[str]:
        values = {**clean, "PYTHONPATH": f"{tmp_path}:{source}", **more}
        words = [sys.executable, "-c", code]
        return subprocess.run(words, env=values, capture_output=True, text=True, check=False, cwd=tmp_path)

    done = run(JUMAR_EMULATE="1")
    assert done.stdout.startswith("[True, True, True, True]\nThe stand-in of pyACL"), done.stderr
    assert done.returncode == 0, done.stderr
    assert run(JUMAR_EMULATE="0").stdout.startswith("[False, False, False, False]")
    (tmp_path / "acl.py").write_text('"""the real one"""\ndef init():\n    return 7\n')
    assert "the real one 7" in run(JUMAR_EMULATE="1").stdout


def test_several_devices_iterations_and_the_module_below(
    om: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from jumar.export.standin import aclruntime
    from jumar.export.standin.session import MultiDeviceSession

    monkeypatch.setenv("JUMAR_CARDS", "2")
    path = str(om())
    feed = numpy.ones((1, 3, 8, 8), "float32")
    expected = InferSession(0, path).infer([feed])[0]
    several = MultiDeviceSession(path)
    found = several.infer({0: [[feed], [feed]], 1: [[feed * 2]]})
    assert [len(found[device]) for device in (0, 1)] == [2, 1] and sorted(several.summary) == [0, 1]
    assert (found[0][1][0] == expected).all() and not (found[1][0][0] == expected).all()
    assert (InferSession(1, path).infer_iteration([feed], [-1], 3)[0] == expected).all()
    session = aclruntime.InferenceSession(path, 0, aclruntime.session_options())
    tensor = aclruntime.Tensor(feed)
    tensor.to_device(0)
    name = session.get_outputs()[0].name
    assert (numpy.array(session.run([name], [tensor])[0]) == expected).all()
    with pytest.raises(RuntimeError, match="no output `z`"):
        session.run(["z"], [tensor])
    with pytest.raises(RuntimeError, match="no device 5"):
        InferSession(5, path)
    with pytest.raises(RuntimeError, match="converted for mode static"):
        session.set_dynamic_batchsize("4")


def test_inputs_that_come_as_float16(om: Callable[..., Path], jumar: Jumar, save: Save) -> None:
    path = str(om("--input-fp16", "x"))
    session = InferSession(0, path)
    feed = numpy.full((1, 3, 8, 8), 0.5, "float16")
    assert session.get_inputs()[0].datatype == "float16"
    assert (session.infer([feed])[0] == InferSession(0, str(om())).infer([feed.astype("float32")])[0]).all()
    with pytest.raises(RuntimeError, match="is float16, float32 was given"):
        InferSession(0, str(om("--input-fp16", "x"))).infer([feed.astype("float32")])
    done = jumar("export", "command", save(tiny()), "--soc", "310P3", "--input-fp16", "x")
    assert "--input_fp16_nodes=x" in done.out
    done = jumar("export", "command", save(tiny()), "--soc", "310P3", "--input-fp16", "xx")
    assert done.code == 2 and "no input `xx`" in done.err
