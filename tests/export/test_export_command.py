"""`jumar export command`: the exact line, and every contradiction refused before ATC sees it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from onnx_models import graph_model, node, tiny, value

from jumar.core.errors import UserError
from jumar.export import aipp

Save = Callable[..., Path]
Jumar = Callable[..., Any]
GOOD = "aipp_op { aipp_mode: static input_format: RGB888_U8 mean_chn_0: 104 var_reci_chn_0: 0.0039 }"


def test_a_fixed_model_needs_only_the_chip(jumar: Jumar, save: Save) -> None:
    path = save(tiny())
    done = jumar("export", "command", path, "--soc", "310p3", "-o", "out/net.om", "--atc=--log=error")
    assert done.code == 0
    line, runner = done.out.splitlines()
    assert line == (
        f"atc --model={path} --framework=5 --output=out/net --soc_version=Ascend310P3 --input_format=NCHW"
        " --input_shape=x:1,3,8,8 --precision_mode=force_fp16 --log=error"
    )
    assert runner == "python3 -m ais_bench --model out/net.om --loop 100"


def test_each_dynamic_mode(jumar: Jumar, save: Save) -> None:
    path = save(tiny(batch="n"))
    out = jumar("export", "command", path, "--soc", "310P3", "--batch", "1,2,4").out
    assert "--input_shape=x:-1,3,8,8 --dynamic_batch_size=1,2,4" in out and "--dymBatch 1" in out
    sizes = save(tiny(size="s"), "sizes.onnx")
    shape = ("--shape", "x:1,3,-1,-1")
    out = jumar("export", "command", sizes, "--soc", "310P3", *shape, "--image-size", "8,8;16,16").out
    assert '--dynamic_image_size="8,8;16,16"' in out and "--dymHW 8,8" in out
    out = jumar("export", "command", sizes, "--soc", "310P3", *shape, "--dims", "8,8;16,16").out
    assert "--input_format=ND" in out and '--dynamic_dims="8,8;16,16"' in out and "--dymDims x:1,3,8,8" in out
    out = jumar("export", "command", sizes, "--soc", "310P3", "--shape", "x:1,3,8~16,8~16").out
    assert "--input_shape=x:1,3,8~16,8~16" in out and "--dymShape x:1,3,8,8" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "input `x` has dynamic axes: [n, 3, 8, 8]"),
        (["--batch", "1,2", "--dims", "1;2"], "`--batch` and `--dims` exclude each other"),
        (["--batch", "4"], "takes 2 to 100 gears on this chip, 1 were given"),
        (["--batch", "1,0"], "`0` is not a gear"),
        (["--batch", "1,1"], "names a gear twice"),
        (["--batch", "1,2", "--shape", "x:1~4,3,8,8"], "excludes `--batch`"),
        (["--batch", "1,2", "--shape", "x:1,3,8,8"], "needs an axis of -1"),
        (["--image-size", "8,8;9,9", "--shape", "x:-1,3,8,8"], "moves axes 2 and 3"),
        (["--dims", "1,2;3,4", "--shape", "x:-1,3,8,8"], "needs 1 number(s)"),
        (["--shape", "z:1,3,8,8"], "the model has no input `z`"),
        (["--shape", "x:1,3,8"], "`x` has 4 axes"),
        (["--shape", "x:1,4,8,8"], "axis 1 of `x` is 3 in the model, `4` was given"),
        (["--shape", "x:1,3,8,8;x:1,3,8,8"], "has two shapes"),
        (["--shape", "x:1,3,eight,8"], "`eight` in `x:1,3,eight,8` is not a size"),
        (["--shape", "x:0,3,8,8"], "is 0"),
        (["--shape", "x:1,3,8,8", "--precision", "force_fp61"], "unknown precision mode: `force_fp61`"),
        (["--shape", "x:1,3,8,8", "--precision", "mixed_bfloat16"], "needs bfloat16"),
        (["--shape", "x:1,3,8,8", "--precision", "cube_hif8"], "needs hifloat8"),
        (["--shape", "x:1,3,8,8", "--output-type", "FP31"], "unknown output type: `FP31`"),
        (["--shape", "x:1,3,8,8", "--output-type", "HIF8"], "is for the 950"),
        (["--shape", "x:1,3,8,8", "--format", "NHWC"], "unknown format: `NHWC`"),
        (["--shape", "x:1,3,8,8", "--keep-dtype", "nothing.cfg"], "no such file: `nothing.cfg`"),
        (["--shape", "x:1,3,8,8", "--atc", "log"], "is not an option of ATC"),
    ],
)  # fmt: skip
def test_contradictions_are_refused(jumar: Jumar, save: Save, words: list[str], said: str) -> None:
    done = jumar("export", "command", save(tiny(batch="n")), "--soc", "Ascend310P3", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err and "Traceback" not in done.err


def test_chips_differ(jumar: Jumar, save: Save) -> None:
    path = save(tiny(batch="n"))
    assert "no ranges" in jumar("export", "command", path, "--soc", "310B4", "--shape", "x:1~4,3,8,8").err
    many = ",".join(str(number) for number in range(1, 151))
    assert jumar("export", "command", path, "--soc", "Ascend950PR_9599", "--batch", many).code == 0
    assert jumar("export", "command", path, "--soc", "910B3", "--batch", many).code == 2
    assert "no chip is named" in jumar("export", "command", path).err


def test_json_and_run(jumar: Jumar, save: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tiny())
    document = json.loads(jumar("export", "command", path, "--soc", "310P3", "--json").out)
    assert document["argv"][0] == "atc" and document["mode"] == "static"
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    done = jumar("export", "command", path, "--soc", "310P3", "--run")
    assert done.code == 2 and "`atc` is not on the path" in done.err
    tool = tmp_path / "bin" / "atc"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/called\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:/bin:/usr/bin")
    assert jumar("export", "command", path, "--soc", "310P3", "--run").code == 0
    assert "--soc_version=Ascend310P3" in (tmp_path / "called").read_text()


def test_a_name_with_a_blank_is_quoted(jumar: Jumar, save: Save) -> None:
    path = save(tiny(), "my model.onnx")
    assert f'--model="{path}"' in jumar("export", "command", path, "--soc", "310P3").out


def test_aipp_files_are_read(tmp_path: Path) -> None:
    text = "# a comment\naipp_op{\n aipp_mode : static\n input_format:YUV420SP_U8 # here too\n csc_switch:true\n}\n"
    step = aipp.parse(text, "f")[0]
    assert step.values == {"aipp_mode": "static", "input_format": "YUV420SP_U8", "csc_switch": True}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no `aipp_op`"),
        ("aipp { }", "found where `aipp_op {` is expected"),
        ("aipp_op { aipp_mode: static", "ends before its `}`"),
        ("aipp_op { aipp_mode: static input_format: RGB88_U8 }", "did you mean `RGB888_U8`?"),
        ("aipp_op { aipp_mode: still }", "must be `static` or `dynamic`"),
        ("aipp_op { aipp_mode: dynamic }", "needs max_src_image_size"),
        ("aipp_op { aipp_mode: static\n mean_chn_9: 1 }", "f:2: no such key: `mean_chn_9`"),
        ("aipp_op { aipp_mode: static mean_chn_0: 300 }", "`mean_chn_0` is 0 to 255, not 300"),
        ("aipp_op { aipp_mode: static mean_chn_0: x }", "is a number, not `x`"),
        ("aipp_op { aipp_mode: static crop: perhaps }", "is true or false"),
        ("aipp_op { aipp_mode: static crop }", "has no value"),
        ("aipp_op { aipp_mode: static aipp_mode: static }", "stands twice"),
        ("aipp_op { aipp_mode: static input_format: RGB888_U8 resize: true }", "is reserved"),
        ("aipp_op { aipp_mode: static input_format: YUV420SP_U8 src_image_size_w: 7 }", "even"),
        (
            "aipp_op { aipp_mode: static input_format: RGB888_U8 crop: true src_image_size_w: 8 crop_size_w: 9 }",
            "exceeds",
        ),
        ("aipp_op { aipp_mode: static input_format: RGB888_U8 padding: true }", "need src_image_size"),
        ("aipp_op { aipp_mode: static % }", "`%` is not part"),
    ],
)
def test_wrong_aipp_files(text: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        aipp.parse(text, "f")
    assert said in f"{caught.value.message} {caught.value.hint}"


def test_aipp_is_checked_against_the_model(jumar: Jumar, save: Save, tmp_path: Path) -> None:
    path, file = save(tiny()), tmp_path / "aipp.cfg"

    def said(text: str, *words: str) -> str:
        file.write_text(text)
        done = jumar("export", "command", path, "--soc", "310P3", "--aipp", file, *words)
        return str(done.out if done.code == 0 else done.err)

    assert f"--insert_op_conf={file}" in said(GOOD)
    assert "the model has 1 input(s)" in said(GOOD.replace("mean_chn_0: 104", "related_input_rank: 1"))
    assert "has two aipp_op for input 0" in said(f"{GOOD}\n{GOOD}")
    assert "src_image_size_w is 16, the model takes 8" in said(GOOD.replace("mean_chn_0: 104", "src_image_size_w: 16"))
    crop = "crop: true src_image_size_w: 16 src_image_size_h: 16 crop_size_w: 9 crop_size_h: 8"
    assert "the w axis becomes 9" in said(GOOD.replace("mean_chn_0: 104", crop))
    assert "needs `--format NCHW`" in said(GOOD, "--format", "ND")
    flat = save(graph_model([node("Relu", ["x"], ["y"])], [value("x", [1, 9])], [value("y", [1, 9])]), "flat.onnx")
    done = jumar("export", "command", flat, "--soc", "310P3", "--aipp", file, "--format", "NCHW")
    assert done.code == 2 and "AIPP needs 4" in done.err


def test_model_that_atc_refuses_is_said_beside_its_command(jumar: Jumar, save: Save) -> None:
    path = save(graph_model([node("HannWindow", ["x"], ["y"])], [value("x", [2])], [value("y", [2])]))
    done = jumar("export", "command", path, "--soc", "310P3")
    assert done.code == 0 and done.out.startswith("atc ") and "EX102 `HannWindow` has no parser" in done.err
    assert json.loads(jumar("export", "command", path, "--soc", "310P3", "--json").out)["refused"]
