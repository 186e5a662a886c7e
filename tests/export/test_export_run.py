"""`jumar export run`: rounding to float16 as ATC's modes mean it, the nodes at risk, and the list that saves them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from onnx_models import graph_model, node, onnx, tiny, value, weight

from jumar.export.standin import program

Save = Callable[..., Path]
Jumar = Callable[..., Any]


def result(jumar: Jumar, *words: object, code: int = 0) -> dict[str, Any]:
    done = jumar("export", "run", *words, "--json")
    assert done.code == code, done.err or done.out
    found: dict[str, Any] = json.loads(done.out)
    return found


def rounded(values: Any) -> Any:
    return numpy.asarray(values, "float32").astype("float16").astype("float32")


def test_rounding_is_that_of_numpy(jumar: Jumar, save: Save, tmp_path: Path) -> None:
    model = graph_model(
        [node("Mul", ["x", "w"], ["y"])], [value("x", [4])], [value("y", [4])], [weight("w", [3.3] * 4)]
    )
    x = numpy.array([1.0001, 0.3333333, 7e-6, 1234.567], "float32")
    numpy.save(tmp_path / "x.npy", x)
    jumar("export", "run", save(model), "--input", f"x={tmp_path}/x.npy", "--save", tmp_path / "out")
    half = numpy.load(tmp_path / "out" / "0_rounded.npy")
    assert numpy.array_equal(half, rounded(rounded(x) * rounded([3.3] * 4)))
    assert numpy.array_equal(numpy.load(tmp_path / "out" / "0_float32.npy"), x * numpy.float32(3.3))


@pytest.mark.parametrize(("mode", "exact"), [("force_fp16", False), ("allow_fp32_to_fp16", True), ("origin", True)])
def test_modes_round_different_nodes(jumar: Jumar, save: Save, mode: str, exact: bool) -> None:
    model = graph_model([node("Mul", ["x", "x"], ["y"])], [value("x", [64])], [value("y", [64])])
    error = result(jumar, save(model), "--precision", mode)["outputs"][0]["relative"]
    assert (error == 0) == exact


def test_matrix_operators_take_half_and_may_give_float(jumar: Jumar, save: Save) -> None:
    model = graph_model([node("MatMul", ["x", "x"], ["y"])], [value("x", [8, 8])], [value("y", [8, 8])])
    full = result(jumar, save(model), "--precision", "force_fp16")["outputs"][0]["relative"]
    inputs = result(jumar, save(model), "--precision", "cube_fp16in_fp32out")["outputs"][0]["relative"]
    assert 0 < inputs < full


def overflowing() -> Any:
    """Values of 100,000 in the middle that come back into the range."""
    return graph_model(
        [node("Mul", ["x", "big"], ["a"]), node("Div", ["a", "big"], ["b"]), node("Add", ["b", "b"], ["y"])],
        [value("x", [16])], [value("y", [16])], [weight("big", 30000.0)],
    )  # fmt: skip


def test_overflow_is_found_and_kept_nodes_cure_it(jumar: Jumar, save: Save, tmp_path: Path) -> None:
    path = save(overflowing())
    numpy.save(tmp_path / "x.npy", numpy.linspace(3, 5, 16, dtype="float32"))
    words = (path, "--input", f"x={tmp_path}/x.npy")
    done = jumar("export", "run", *words)
    assert done.code == 1
    assert "16 elements are inf or nan: over the tolerance" in done.out
    assert "overflow  Mul                  n_a: values up to 1.5e+05, float16 ends at 65504" in done.out
    done = jumar("export", "run", *words, "--find-keep", tmp_path / "keep.cfg")
    assert done.code == 0, done.out
    assert (tmp_path / "keep.cfg").read_text() == "n_a\nn_b\n"
    assert "with 2 nodes kept in float32" in done.out
    again = result(jumar, *words, "--keep-dtype", tmp_path / "keep.cfg")
    assert again["outputs"][0]["relative"] < 1e-3
    (tmp_path / "types.cfg").write_text("# by type\nOpType::Mul\nOpType::Div\n")
    assert result(jumar, *words, "--keep-dtype", tmp_path / "types.cfg")["outputs"][0]["relative"] < 1e-3


def test_nodes_without_a_name_cannot_be_listed(jumar: Jumar, save: Save, tmp_path: Path) -> None:
    model = overflowing()
    for one in model.graph.node:
        one.name = ""
    numpy.save(tmp_path / "x.npy", numpy.full(16, 5, "float32"))
    done = jumar("export", "run", save(model), "--input", tmp_path / "x.npy", "--find-keep", tmp_path / "keep.cfg")
    assert "2 of them have no name in the model: list them after `check --fix`" in done.err


def test_chips_without_infinity_clamp(jumar: Jumar, save: Save, tmp_path: Path) -> None:
    numpy.save(tmp_path / "x.npy", numpy.full(16, 5, "float32"))
    words = (save(overflowing()), "--input", f"x={tmp_path}/x.npy")
    assert result(jumar, *words, "--soc", "910B3", code=1)["outputs"][0]["broken"] == 16
    clamped = result(jumar, *words, "--soc", "310P3", code=1)["outputs"][0]
    assert clamped["broken"] == 0 and clamped["relative"] == pytest.approx(1 - 65504 / 150000, rel=1e-3)


def test_a_large_weight_and_small_values_are_named(jumar: Jumar, save: Save) -> None:
    heavy = graph_model([node("Constant", [], ["k"], value=weight("k", [1e6])), node("Mul", ["x", "k"], ["a"]),
                         node("Mul", ["a", "e"], ["y"])],
                        [value("x", [9])], [value("y", [9])], [weight("e", [1e-11])])  # fmt: skip
    nodes = {row["name"]: row["risk"] for row in result(jumar, save(heavy), code=1)["nodes"]}
    assert nodes["n_a"] in ("overflow", "weight") and nodes["n_y"] == "underflow"


def test_branches_run_in_both_graphs(jumar: Jumar, save: Save) -> None:
    then = onnx.helper.make_graph([node("Add", ["a", "x"], ["t"])], "t", [], [value("t", [4])])
    other = onnx.helper.make_graph([node("Neg", ["a"], ["e"])], "e", [], [value("e", [4])])
    model = graph_model([node("Mul", ["x", "x"], ["a"]), node("If", ["c"], ["y"], then_branch=then, else_branch=other)],
                        [value("x", [4]), value("c", [1], "BOOL")], [value("y", [4])])  # fmt: skip
    assert 0 < result(jumar, save(model))["outputs"][0]["relative"] < 1e-3


def test_a_stand_in_keeps_what_it_was_made_with(jumar: Jumar, save: Save, tmp_path: Path) -> None:
    path = save(tiny(batch="n"))
    done = jumar("export", "om", path, "--soc", "310P3", "--batch", "1,2", "-o", tmp_path / "net")
    assert done.code == 0 and "a stand-in, which no device can load" in done.err
    assert 0 < result(jumar, tmp_path / "net.om")["outputs"][0]["relative"] < 1e-2
    loaded = program.load(tmp_path / "net.om")
    assert (loaded.mode, loaded.gears, loaded.largest()) == ("batch", ((1,), (2,)), (2,))
    assert loaded.outputs[0].shape == (2, 4)
    exact = jumar(
        "export", "om", path, "--soc", "310P3", "--shape", "x:1,3,8,8", "--precision", "origin", "-o", tmp_path / "e"
    )
    assert exact.code == 0
    x = numpy.ones((1, 3, 8, 8), "float32")
    assert numpy.allclose(program.load(tmp_path / "e.om").execute([x]), program.load(path).execute([x]), atol=1e-6)


def test_aipp_does_what_its_keys_say(jumar: Jumar, save: Save, tmp_path: Path) -> None:
    model = graph_model([node("Identity", ["x"], ["y"])], [value("x", [1, 3, 4, 4])], [value("y", [1, 3, 4, 4])])
    path, file = save(model), tmp_path / "a.cfg"

    def through(text: str, image: Any) -> Any:
        file.write_text(f"aipp_op {{ aipp_mode: static {text} }}")
        words = ("--soc", "910B3", "--precision", "origin", "--aipp", file, "-o", tmp_path / "a")
        done = jumar("export", "om", path, *words)
        assert done.code == 0, done.err
        return program.load(tmp_path / "a.om").execute([image])[0]

    image = numpy.arange(48, dtype="uint8").reshape(1, 4, 4, 3)
    plain = through("input_format: RGB888_U8", image)
    assert numpy.array_equal(plain, image.transpose(0, 3, 1, 2).astype("float32"))
    swapped = through("input_format: RGB888_U8 rbuv_swap_switch: true mean_chn_0: 2 var_reci_chn_0: 0.5", image)
    assert numpy.array_equal(swapped[0, 0], (image[0, :, :, 2].astype("float32") - 2) * 0.5)
    big = numpy.arange(6 * 6 * 3, dtype="uint8").reshape(1, 6, 6, 3)
    crop = "input_format: RGB888_U8 src_image_size_w: 6 src_image_size_h: 6 crop: true load_start_pos_w: 1"
    assert numpy.array_equal(through(crop, big)[0, 0], big[0, 0:4, 1:5, 0].astype("float32"))
    grey = numpy.full((1, 6, 4, 1), 128, "uint8")
    grey[0, :4] = 200
    matrix = (256, 0, 359, 256, -88, -183, 256, 454, 0)
    keys = [f"matrix_r{number // 3}c{number % 3}: {entry}" for number, entry in enumerate(matrix)]
    keys += [f"input_bias_{number}: {entry}" for number, entry in enumerate((0, 128, 128))]
    jpeg = f"input_format: YUV420SP_U8 csc_switch: true {' '.join(keys)}"
    assert numpy.array_equal(through(jpeg, grey), numpy.full((1, 3, 4, 4), 200, "float32"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--input", "z=f.npy"], "the model has no input `z`"),
        (["--input", "x=nothing.npy"], "cannot read `nothing.npy`"),
        (["--precision", "fp17"], "unknown precision mode: `fp17`"),
        (["--precision", "mixed_hif8"], "does not compute in `mixed_hif8`"),
        (["--keep-dtype", "nothing.cfg"], "cannot read `nothing.cfg`"),
        (["--shape", "x:1,3,9,9"], "axis 2 of `x` is 8"),
    ],
)
def test_wrong_words(jumar: Jumar, save: Save, words: list[str], said: str) -> None:
    done = jumar("export", "run", save(tiny()), *words)
    assert done.code == 2 and said in done.err and "Traceback" not in done.err


def test_inputs_of_another_type_or_a_pickle_are_refused(jumar: Jumar, save: Save, tmp_path: Path) -> None:
    path = save(tiny())
    numpy.save(tmp_path / "d.npy", numpy.zeros((1, 3, 8, 8)))
    assert "is float32, " in jumar("export", "run", path, "--input", f"x={tmp_path}/d.npy").err
    numpy.save(tmp_path / "p.npy", numpy.array([{}], dtype=object), allow_pickle=True)
    assert "cannot read" in jumar("export", "run", path, "--input", f"x={tmp_path}/p.npy").err
    numpy.save(tmp_path / "s.npy", numpy.zeros((2, 2), "float32"))
    assert "ONNX Runtime cannot run the model" in jumar("export", "run", path, "--input", f"x={tmp_path}/s.npy").err


def test_a_real_om_is_refused(jumar: Jumar, tmp_path: Path) -> None:
    (tmp_path / "real.om").write_bytes(b"IMOD" + b"\0" * 300)
    done = jumar("export", "run", tmp_path / "real.om")
    assert done.code == 2 and "only a device runs it" in done.err


def test_an_endless_loop_is_stopped(jumar: Jumar, save: Save) -> None:
    names = [value("i", [], "INT64"), value("c", [], "BOOL"), value("s", [])]
    body = onnx.helper.make_graph([node("Identity", ["c"], ["k"]), node("Add", ["s", "x"], ["t"])], "b", names,
                                  [value("k", [], "BOOL"), value("t", [])])  # fmt: skip
    model = graph_model([node("Loop", ["", "true", "x"], ["y"], body=body)], [value("x", [])], [value("y", [])])
    model.graph.initializer.append(onnx.helper.make_tensor("true", onnx.TensorProto.BOOL, [], [True]))
    done = jumar("export", "run", save(model), "--timeout", "1")
    assert done.code == 2 and "was stopped" in done.err


def test_bfloat16_keeps_the_range_and_loses_digits(jumar: Jumar, save: Save, tmp_path: Path) -> None:
    model = graph_model(
        [node("Mul", ["x", "w"], ["y"])], [value("x", [4])], [value("y", [4])], [weight("w", [3.3] * 4)]
    )
    x = numpy.array([1.0001, 1e30, 7e-20, -1234.567], "float32")
    numpy.save(tmp_path / "x.npy", x)
    words = ("--input", f"x={tmp_path}/x.npy", "--save", tmp_path / "out", "--soc", "910B3")
    done = jumar("export", "run", save(model), *words, "--precision", "mixed_bfloat16")
    assert done.code == 0 and "no node has values that bfloat16 cannot hold" in done.out, done.err
    bfloat16 = pytest.importorskip("ml_dtypes", reason="ml_dtypes, which comes with onnx, is missing").bfloat16

    def rounds(values: Any) -> Any:
        return numpy.asarray(values, "float32").astype(bfloat16).astype("float32")

    expected = rounds(rounds(x) * rounds([3.3] * 4))
    assert numpy.array_equal(numpy.load(tmp_path / "out" / "0_rounded.npy"), expected)
