"""The `atc` of the emulated machine takes the vendor's line and refuses what ATC would."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from onnx_models import tiny

from jumar.emulate import env, prefix
from jumar.export.standin import atc, om

Save = Callable[..., Path]


def test_the_line_of_the_command_works(
    save: Save, tmp_path: Path, capfd: pytest.CaptureFixture[str], jumar: Any
) -> None:
    path = save(tiny())
    words = shlex.split(jumar("export", "command", path, "--soc", "310P3", "-o", tmp_path / "net").out.splitlines()[0])
    assert atc.main([*words[1:], "--log", "error"]) == 0
    assert capfd.readouterr().out.endswith("ATC run success, welcome to the next use.\n")
    assert om.load(tmp_path / "net.om").soc == "Ascend310P3"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--soc_version=Ascend310P3"], "`--model` is missing"),
        (["--soc_verson=x"], "did you mean `soc_version`?"),
        (["--model=M", "--framework=3", "--output=o", "--soc_version=Ascend310P3"], "ONNX models only"),
        (["--model=M", "--framework=5", "--output=o", "--soc_version=Ascend310P3", "--precision_mode=force_fp16",
          "--precision_mode_v2=fp16"], "exclude each other"),
        (["--model=M", "--framework=5", "--output=o", "--soc_version=Ascend310P9"], "unknown SoC name"),
    ],
)  # fmt: skip
def test_wrong_lines(
    save: Save, tmp_path: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save(tiny())
    assert atc.main([word.replace("=M", f"={path}").replace("=o", f"={tmp_path}/o") for word in words]) == 1
    told = capsys.readouterr()
    assert "ATC run failed" in told.out and said in told.err
    assert not (tmp_path / "o.om").exists()


def test_a_new_opset_is_refused_as_by_atc(save: Save, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [f"--model={save(tiny(opset=20))}", "--framework=5", f"--output={tmp_path}/o", "--soc_version=Ascend310P3"]
    assert atc.main(words) == 1
    assert "EX101: opset 20" in capsys.readouterr().err


def test_it_is_on_the_path_of_the_emulated_machine(save: Save, tmp_path: Path) -> None:
    place = tmp_path / "Ascend"
    prefix.write(place, prefix.build(place, env.environment(soc="310P3", cards=1, base={})))
    line = f"source {place}/ascend-toolkit/set_env.sh && atc --model={save(tiny())} --framework=5 --output=net"
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("JUMAR_", "ASCEND"))}
    done = subprocess.run(
        ["bash", "-c", f"{line} --soc_version=$JUMAR_SOC"], cwd=tmp_path, env=clean,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert om.load(tmp_path / "net.om").precision == "force_fp16"
