"""`jumar run` finds out that a program is MindSpore's, and says what is wrong; MindSpore itself is not needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jumar.core.errors import UserError
from jumar.emulate import command, mindspore, prefix, program
from jumar.emulate.command import RunRequest
from jumar.emulate.mindspore import Installed
from jumar.runtime import npus
from jumar.runtime.hooks import SITE
from jumar.tables import tested

_SITE = Path(SITE)


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("JUMAR_EMULATE", "JUMAR_SOC", "JUMAR_CARDS", "JUMAR_MEMORY", "JUMAR_CANN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(npus, "DRIVERS", (str(tmp_path / "no-driver"),))
    monkeypatch.setattr(mindspore, "installed", lambda python: Installed(tested.mindspore().mindspore, "1.26.4"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text("import numpy\nif True:\n    from mindspore import nn\n")
    (tmp_path / "other.py").write_text("text = 'import mindspore'\n# import mindspore\n")
    (tmp_path / "torch_net.py").write_text("import torch.nn as nn\nfrom net import anything\n")
    (tmp_path / "train.py").write_text(
        "import argparse\nfrom src import config\nfrom src.models.tiny import (Tiny,\n  x)\n"
    )
    (tmp_path / "src" / "models").mkdir(parents=True)
    (tmp_path / "src" / "models" / "tiny.py").write_text("from ..parts import Part\n")
    (tmp_path / "src" / "parts.py").write_text("import mindspore.nn as nn\nimport train\n")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["net.py", "--epochs", "3"], "mindspore"),
        (["-u", "net.py"], "mindspore"),
        (["train.py"], "mindspore"),
        (["-m", "src.models.tiny"], "mindspore"),
        (["msrun", "--worker_num=2", "net.py"], "mindspore"),
        (["-c", "import mindspore as ms"], "mindspore"),
        (["-m", "mindspore.run_check"], "mindspore"),
        (["torch_net.py"], "torch"),
        (["torchrun", "net.py"], "torch"),
        (["other.py"], None),
        (["missing.py"], None),
        (["-c", "print('import mindspore')"], None),
        (["-m", "pytest"], None),
        ([], None),
    ],
)
def test_framework_is_known_by_the_imports(words: list[str], expected: str | None) -> None:
    assert program.framework(words, Path()) == expected


def _only(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    monkeypatch.setattr(command, "_has", lambda package: package in packages)


def test_environment_with_mindspore_alone_is_mindspores(monkeypatch: pytest.MonkeyPatch) -> None:
    _only(monkeypatch, "mindspore")
    built = command.build(["other.py"], RunRequest(), {})
    assert not built.glue and built.variables["JUMAR_CANN"] == tested.mindspore().cann


def test_program_without_torch_needs_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    _only(monkeypatch)
    assert not command.build(["other.py"], RunRequest(), {}).glue
    with pytest.raises(UserError, match="`torch` is not installed"):
        command.build(["torch_net.py"], RunRequest(), {})


@pytest.mark.parametrize(
    ("version", "cann"),
    [*((row.mindspore, row.cann) for row in tested.mindspores()), ("2.99.0", tested.mindspore().cann)],
)
def test_cann_is_the_one_that_belongs_to_mindspore(monkeypatch: pytest.MonkeyPatch, version: str, cann: str) -> None:
    monkeypatch.setattr(mindspore, "installed", lambda python: Installed(version, "1.26.4"))
    assert command.build(["net.py"], RunRequest(), {}).variables["JUMAR_CANN"] == cann


def test_libraries_are_found_through_the_prefix() -> None:
    built = command.build(["net.py"], RunRequest(soc="910b4", cards=2), {})
    place = prefix.default_place({"JUMAR_SOC": "Ascend910B4", "JUMAR_CARDS": "2", "JUMAR_CANN": "9.1.0"})
    home = f"{place}/ascend-toolkit/latest"
    assert built.variables["LD_LIBRARY_PATH"].split(":")[0] == f"{home}/lib64"
    assert built.variables["PYTHONPATH"] == f"{_SITE}:{home}/{prefix.PYTHON}"
    assert built.argv[0] == sys.executable
    assert not built.glue


@pytest.mark.parametrize("name", ["MS_DEV_RUNTIME_CONF", "MS_SIMULATION_LEVEL"])
def test_own_settings_of_the_runtime_are_kept(name: str) -> None:
    assert command.build(["net.py"], RunRequest(), {}).variables["MS_DEV_RUNTIME_CONF"] == "switch_inline:False"
    assert "MS_DEV_RUNTIME_CONF" not in command.build(["net.py"], RunRequest(), {name: "1"}).variables


def test_prefix_has_hccl_and_no_operator_compiler(tmp_path: Path) -> None:
    values = {"JUMAR_SOC": "Ascend910B3", "JUMAR_CARDS": "1", "JUMAR_CANN": "9.1.0"}
    entries = prefix.build(tmp_path, values)
    assert entries[f"cann-9.1.0/{prefix.PYTHON}/hccl/sys_version.py"].text == '__sys_version__ = "9.1.0"\n'
    assert not [name for name in entries if "/te/" in name]


def test_on_cpu_maps_the_device_and_keeps_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    built = command.build(["net.py"], RunRequest(on="cpu"), {"PYTHONPATH": "/mine"})
    assert built.variables["JUMAR_MINDSPORE_TARGET"] == "CPU"
    assert built.variables["DNNL_MAX_CPU_ISA"] == "AVX2"
    assert built.variables["PYTHONPATH"] == f"{_SITE}:/mine"
    assert "device_target is CPU" in built.where


def test_own_choice_of_instructions_is_kept() -> None:
    built = command.build(["net.py"], RunRequest(on="cpu"), {"DNNL_MAX_CPU_ISA": "AVX512"})
    assert "DNNL_MAX_CPU_ISA" not in built.variables


def test_numpy_2_is_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mindspore, "installed", lambda python: Installed(tested.mindspore().mindspore, "2.4.6"))
    assert "numpy 2.4.6 breaks MindSpore's PyNative mode" in command.build(["net.py"], RunRequest(), {}).where


def test_missing_mindspore_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mindspore, "installed", lambda python: Installed("", "1.26.4"))
    with pytest.raises(UserError, match="`mindspore` is not installed for") as caught:
        command.build(["net.py"], RunRequest(), {})
    assert "--python" in str(caught.value.hint)


@pytest.mark.parametrize("version", ["1.10.1", "2.0.0", "2.2.14", "2.0.0rc1"])
def test_releases_that_need_the_graph_engine_are_refused(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(mindspore, "installed", lambda python: Installed(version, "1.26.4"))
    with pytest.raises(UserError, match=f"mindspore {version} is not emulated: its plug-in needs CANN's graph engine"):
        command.build(["net.py"], RunRequest(), {})
    assert command.build(["net.py"], RunRequest(on="cpu"), {}).variables["JUMAR_EMULATE"] == "0"


@pytest.mark.parametrize(
    ("wish", "said"), [(RunRequest(cuda=True), "--cuda"), (RunRequest(ops=Path("o.json")), "--ops")]
)
def test_options_of_torch_are_refused(wish: RunRequest, said: str) -> None:
    with pytest.raises(UserError, match=said):
        command.build(["net.py"], wish, {})


@pytest.mark.parametrize("wish", [RunRequest(on="cpu"), RunRequest(python="python3")])
def test_options_of_mindspore_are_refused_for_torch(wish: RunRequest) -> None:
    with pytest.raises(UserError, match="for MindSpore programs"):
        command.build(["torch_net.py"], wish, {})


def test_wrong_interpreter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with pytest.raises(UserError, match="no such interpreter: `/no/python`"):
        mindspore.installed("/no/python")
    with pytest.raises(UserError, match="is not a working Python"):
        mindspore.installed("/bin/false")


def test_hidden_sitecustomize_still_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine')\n")
    done = subprocess.run(
        [sys.executable, "-c", "print('program')"],
        env={"PYTHONPATH": f"{_SITE}:{tmp_path}", "JUMAR_MINDSPORE_TARGET": "CPU"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.split() == ["mine", "program"]
