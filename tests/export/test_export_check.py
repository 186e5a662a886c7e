"""`jumar export check`: what ATC would refuse is found, with what helps; the rewrite computes the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from onnx_models import graph_model, node, onnx, tiny, value, weight

from jumar.export import check, fix
from jumar.tables import atc, pages

Save = Callable[..., Path]
Jumar = Callable[..., Any]


def found(path: Path, **more: Any) -> dict[str, str]:
    view, external = check.read(path)
    return {item.id: item.message for item in check.run(check.Subject(path, view, external, **more), check.units())}


def test_a_plain_model_passes(save: Save, jumar: Jumar) -> None:
    done = jumar("export", "check", save(tiny()))
    assert (done.code, done.out) == (0, "")
    assert "opset 17, 5 nodes: nothing to report" in done.err


def test_a_new_opset_is_one_error_and_is_rewritten(save: Save, jumar: Jumar, tmp_path: Path) -> None:
    path = save(tiny(opset=20))
    done = jumar("export", "check", path)
    assert done.code == 1
    assert "EX101 error opset 20: ATC's newest is 18, so none of the 5 nodes is parsed" in done.out
    assert done.out.count("EX1") == 1
    done = jumar("export", "check", path, "--fix", "-o", tmp_path / "fixed.onnx")
    assert done.code == 0
    assert "opset 20 became 18" in done.err
    assert "computes the same as the original on a random input" in done.err
    assert onnx.load(tmp_path / "fixed.onnx").opset_import[0].version == 18


def test_operators_are_looked_up_by_opset(save: Save) -> None:
    gelu = graph_model([node("Gelu", ["x"], ["y"])], [value("x", [2])], [value("y", [2])], opset=20)
    assert "`Gelu` has no parser in ATC at any opset" in found(save(gelu))["EX102"]
    swish = graph_model([node("LayerNormalization", ["x", "s"], ["y"])], [value("x", [2, 3])], [value("y", [2, 3])],
                        [weight("s", [1, 1, 1])], opset=17)  # fmt: skip
    assert "EX103" not in found(save(swish))
    swish.opset_import[0].version = 16
    assert "`LayerNormalization` is parsed at opset 17 to 18, not at 16" in found(save(swish))["EX103"]


def test_an_operator_that_onnx_defines_by_others_is_written_out(save: Save, jumar: Jumar, tmp_path: Path) -> None:
    gelu = graph_model([node("Gelu", ["x"], ["y"])], [value("x", [2, 5])], [value("y", [2, 5])], opset=20)
    done = jumar("export", "check", save(gelu), "--fix", "-o", tmp_path / "fixed.onnx")
    assert done.code == 0, done.out
    assert "expanded `Gelu` into the operators that define it\nopset 20 became 18" in done.err
    assert "computes the same as the original" in done.err
    scan = graph_model([node("STFT", ["x", "s", "", "l"], ["y"])], [value("x", [1, 64, 1])], [value("y", [1, 9, 9, 2])])
    path = tmp_path / "scan.onnx"
    for name, number in (("s", 4), ("l", 16)):
        scan.graph.initializer.append(onnx.helper.make_tensor(name, onnx.TensorProto.INT64, [], [number]))
    done = jumar("export", "check", save(scan), "--fix", "-o", path)
    assert done.code == 1 and "EX102" in done.out


def test_other_domains_and_functions_are_refused_and_written_out(save: Save) -> None:
    foreign = graph_model([node("FusedConv", ["x"], ["y"], domain="com.microsoft")], [value("x", [2])],
                          [value("y", [2])], domains=["com.microsoft"])  # fmt: skip
    view, external = check.read(save(foreign))
    items = check.run(check.Subject(Path("m"), view, external), check.units())
    assert items[0].id == "EX104" and "ONNX Runtime's optimizer" in (items[0].fix or "")
    function = onnx.helper.make_function("own", "Twice", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])],
                                         [onnx.helper.make_opsetid("", 17)])  # fmt: skip
    model = graph_model([node("Twice", ["x"], ["y"], domain="own")], [value("x", [2])], [value("y", [2])],
                        domains=["own"], functions=[function])  # fmt: skip
    path = save(model)
    assert "EX105" in found(path) and "EX104" not in found(path)
    fixed = fix.fix(path)
    assert [one.op_type for one in fixed.model.graph.node] == ["Add"]
    assert "inlined the model's own functions" in fixed.done


def test_shapes_types_and_names(save: Save) -> None:
    model = graph_model(
        [node("Add", ["x:0", "x:0"], ["a"], name=""), node("Cast", ["a"], ["b"], to=onnx.TensorProto.DOUBLE),
         node("Mul", ["ids", "ids"], ["c"])],
        [value("x:0", ["batch", 2, 2, 2, 2]), value("ids", [4, 9], "INT64")],
        [value("b", ["batch", 2, 2, 2, 2], "DOUBLE"), value("c", [4, 9], "INT64")],
    )  # fmt: skip
    messages = found(save(model))
    assert messages["EX107"] == "input `x:0` has dynamic axes: [batch, 2, 2, 2, 2]"
    assert "`Mul` computes with 64-bit integers" in messages["EX108"] or "INT64" in messages["EX108"]
    assert messages["EX109"].startswith("DOUBLE: computed outside the AI cores")
    assert "input `x:0` has 5 axes" in messages["EX110"]
    assert messages["EX114"] == "names of nodes: 1 without"
    assert "`x:0` has a character" in messages["EX115"]
    fixed = fix.fix(save(model))
    assert "input `x:0` is now `x_0`" in fixed.done
    assert fixed.model.graph.node[0].input[0] == "x_0"


def test_branches_and_empty_values(save: Save) -> None:
    then = onnx.helper.make_graph([node("Identity", ["x"], ["t"])], "t", [], [value("t", [2])])
    other = onnx.helper.make_graph([node("Neg", ["x"], ["e"])], "e", [], [value("e", [2])])
    model = graph_model([node("If", ["c"], ["y"], then_branch=then, else_branch=other),
                         node("Slice", ["x", "s", "s"], ["z"])],
                        [value("x", [2]), value("c", [1], "BOOL")], [value("y", [2]), value("z", [0])])  # fmt: skip
    model.graph.initializer.append(onnx.helper.make_tensor("s", onnx.TensorProto.INT64, [1], [0]))
    messages = found(save(model))
    assert "`If` makes the graph dynamic" in messages["EX106"]
    assert "`z` [0]" in messages["EX111"]


def test_bfloat16_depends_on_the_chip(save: Save, jumar: Jumar) -> None:
    model = graph_model([node("Relu", ["x"], ["y"])], [value("x", [2], "BFLOAT16")], [value("y", [2], "BFLOAT16")])
    path = save(model)
    assert jumar("export", "check", path, "--soc", "910B3").code == 0
    done = jumar("export", "check", path, "--soc", "310p3")
    assert done.code == 1 and "this chip has no bfloat16" in done.out
    assert "did you mean" in jumar("export", "check", path, "--soc", "Ascend310P33").err


def test_external_data_must_lie_beside_the_model(save: Save, tmp_path: Path) -> None:
    def model(location: str, length: int = 540) -> Path:
        made = tiny()
        tensor = made.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, text in (("location", location), ("length", str(length))):
            tensor.external_data.add(key=key, value=text)
        return save(made)

    assert "the file is missing: `w.bin`" in found(model("w.bin"))["EX112"]
    assert "outside the folder" in found(model("../../etc/passwd"))["EX112"]
    assert "outside the folder" in found(model("/etc/passwd"))["EX112"]
    (tmp_path / "link.bin").symlink_to("/etc/passwd")
    assert "outside the folder" in found(model("link.bin"))["EX112"]
    (tmp_path / "w.bin").write_bytes(b"\0" * 100)
    assert "too short" in found(model("w.bin"))["EX112"]
    (tmp_path / "w.bin").write_bytes(b"\0" * 540)
    assert "EX112" not in found(model("w.bin"))


def test_an_invalid_node_is_said(save: Save) -> None:
    broken = graph_model([node("Relu", ["x", "x", "x"], ["y"])], [value("x", [2])], [value("y", [2])])
    assert "EX113" in found(save(broken))
    twice = graph_model([node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"])], [value("x", [2])], [value("y", [2])])
    assert "`y` is written twice" in found(save(twice))["EX113"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"IMOD" + b"\0" * 64, "an offline model of a real ATC"),
        (b"PK\x03\x04rest", "an archive"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"<html></html>", "a web page"),
        (b"\xff" * 200, "truncated or damaged"),
        (b"\x08\x08", "holds no graph"),
    ],
)
def test_what_is_no_model_is_refused_in_one_line(jumar: Jumar, tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "m.onnx").write_bytes(data)
    done = jumar("export", "check", tmp_path / "m.onnx")
    assert done.code == 2
    assert said in done.err and "Traceback" not in done.err


def test_wrong_words(jumar: Jumar, save: Save, tmp_path: Path) -> None:
    path = save(tiny())
    assert "did you mean" in jumar("export", "check", tmp_path / "modle.onnx").err
    assert "needs an output file" in jumar("export", "check", path, "--fix").err
    assert "nothing to write" in jumar("export", "check", path, "-o", tmp_path / "o.onnx").err
    assert "no such check: `EX999`" in jumar("export", "check", path, "--only", "EX999").err
    assert "no model is named" in jumar("export", "check").err


def test_json_and_sarif(jumar: Jumar, save: Save, tmp_path: Path) -> None:
    path = save(tiny(opset=20))
    done = jumar("export", "check", path, "--json", "--sarif", tmp_path / "r.sarif")
    document = json.loads(done.out)
    assert document["model"]["operators"] == {"Conv": 1, "Flatten": 1, "Gemm": 1, "GlobalAveragePool": 1, "Relu": 1}
    assert [row["id"] for row in document["findings"]] == ["EX101"]
    sarif = json.loads((tmp_path / "r.sarif").read_text())
    assert sarif["runs"][0]["results"][0]["ruleId"] == "EX101"


def test_every_check_has_a_page_and_every_page_a_check(jumar: Jumar) -> None:
    ids = {unit.check.id: unit.check.name for unit in check.units()}
    known = {id_: page.name for id_, page in pages.pages().items() if id_.startswith("EX")}
    assert ids == known
    assert "EX101  opset-not-parsed" in jumar("export", "check", "--list").out


def test_table_is_whole() -> None:
    rows = atc.parsed()
    assert len(rows) == 230 and list(rows) == sorted(rows)
    assert all(1 <= low <= high <= 18 for low, high in rows.values())
    assert rows["Conv"] == (8, 18) and rows["LayerNormalization"] == (17, 18)
    notes = atc.options()["operators"]
    assert list(notes) == sorted(notes) and not set(notes) & set(rows)
    known = {schema.name for schema in onnx.defs.get_all_schemas()}
    assert set(notes) <= known
    assert all(len(row) in (1, 3) for row in atc.options()["aipp"]["keys"].values())


def test_page_has_findings_operators_and_ports(jumar: Jumar, save: Save, tmp_path: Path) -> None:
    model = graph_model(
        [node("Relu", ["<x>"], ["r"]), node("HannWindow", ["r"], ["b"]), node("Mine", ["b"], ["y"], domain="com.me")],
        [value("<x>", [1, 3])],
        [value("y", [1, 3])],
    )
    done = jumar("export", "check", save(model), "--html", tmp_path / "page.html", "-q")
    assert done.code == 1
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "EX102" in page and "com.me::Mine" in page and "no parser" in page and "another domain" in page
    assert "&lt;x&gt;" in page and "<x>" not in page
    assert "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page
