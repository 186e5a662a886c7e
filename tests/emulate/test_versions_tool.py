"""tools/versions.py: rows of tested.toml, errors in one line, stand-ins of libraries that are not there."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from jumar.core.compat import tomllib
from jumar.tables import tested

_TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(_TOOLS))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    module = import_module("versions")
    assert Path(str(module.__file__)).parent == _TOOLS and "versions" not in before
    return module


def _row(torch_npu: str, **more: Any) -> dict[str, Any]:
    return {"torch": torch_npu.partition(".post")[0], "torch_npu": torch_npu, "cann": "1.0", "state": "runs", **more}


def test_a_row_is_put_in_its_place_and_the_rest_stays(
    tools: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tested.toml"
    text = tools.tested_file.FILE.read_text(encoding="utf-8")
    file.write_text(text, encoding="utf-8")
    monkeypatch.setattr(tools.tested_file, "FILE", file)
    before = tomllib.loads(text)
    tools.write_row(_row("1.2.0", failed=['ddp: a "quoted" word']))
    tools.write_row(_row("1.10.0"))
    tools.write_row(_row("1.2.0", passed=["guide"], failed=[], sample=[3, 4]))
    after = tomllib.loads(file.read_text(encoding="utf-8"))
    assert after["mindspore"] == before["mindspore"] and after["python"] == before["python"]
    assert after["pairs"][: len(before["pairs"])] == before["pairs"]
    assert [row["torch_npu"] for row in after["pairs"][-2:]] == ["1.10.0", "1.2.0"]
    assert after["pairs"][-1] == _row("1.2.0", passed=["guide"], sample=[3, 4])
    tools.write_row(_row("1.2.0", passed=["guide", "perf"], sample=[]))
    again = tomllib.loads(file.read_text(encoding="utf-8"))["pairs"][-1]
    assert again == _row("1.2.0", passed=["guide", "perf"], sample=[3, 4])  # without a sample, the last one stays
    tools.write_row({**_row("1.2.0"), "state": "fails"})
    assert "sample" not in tomllib.loads(file.read_text(encoding="utf-8"))["pairs"][-1]


def test_the_error_of_a_check_is_one_line_without_paths(tools: Any) -> None:
    said = "Traceback:\n  File x\nRuntimeError: no file /home/someone/x.so here\n[W1] Error count 3\n"
    assert tools._last(subprocess.CompletedProcess([], 1, "", said)) == "RuntimeError: no file … here"
    assert tools._last(subprocess.CompletedProcess([], -11, "", "")) == "ended with code -11"


def test_a_record_of_another_recorder_says_why(tools: Any, tmp_path: Path) -> None:
    assert tools.version_environment.recorder(tmp_path) == "no record"
    (tmp_path / "meta.json").write_text('{"recorder": "Python: no header /usr/x.h"}')
    assert tools.version_environment.recorder(tmp_path) == "Python: no header …"
    (tmp_path / "meta.json").write_text('{"recorder": "C++"}')
    assert tools.version_environment.recorder(tmp_path) == ""


@pytest.mark.parametrize(
    ("code", "rank", "problem"),
    [
        (0, {"kernels": 3, "memory_mb": {"allocated": 1}}, ""),
        (1, {"kernels": 3, "memory_mb": {"allocated": 1}}, ""),
        (1, {"kernels": 3, "memory_mb": None}, "no kernel of a card was recorded"),
        (0, {"kernels": 0, "memory_mb": {"allocated": 1}}, "no kernel of a card was recorded"),
        (2, {"kernels": 3, "memory_mb": {"allocated": 1}}, "ended with code 2"),
    ],
)
def test_a_profile_is_of_a_card_whether_or_not_there_is_advice(
    tools: Any, code: int, rank: dict[str, Any], problem: str
) -> None:
    done = subprocess.CompletedProcess([], code, json.dumps({"ranks": [rank]}), "")
    assert tools._profiled(done) == problem


def test_every_row_of_the_table_is_a_published_pair(tools: Any) -> None:
    from jumar.tables import versions

    known = {(row.torch, row.torch_npu) for row in versions.releases() if row.published}
    for row in tested.pairs():
        assert (row.torch, row.torch_npu) in known
        assert row.state in ("tested", "runs", "basic checks", "fails")
        asked = {*tools.SINGLE, "ddp", "compare"}
        assert (row.state == "runs") <= (not row.failed and asked <= set(row.passed) <= asked | {"recorder", "perf"})


@pytest.mark.skipif(shutil.which("gcc") is None or shutil.which("readelf") is None, reason="needs gcc and readelf")
def test_stand_ins_have_the_names_and_versions_that_are_asked_for(tools: Any, tmp_path: Path) -> None:
    lib = tmp_path / "torch" / "lib"
    lib.mkdir(parents=True)
    (tmp_path / "real.c").write_text("int cudaGetDeviceCount(int *n) { return 0; }\n")
    (tmp_path / "map").write_text("CUDA_9 { global: *; };\n")
    (tmp_path / "plain.c").write_text(
        "int ncclGetUniqueId(void) { return 0; }\nchar *ncclGetErrorString(void) { return 0; }\n"
    )
    (tmp_path / "user.c").write_text(
        "int cudaGetDeviceCount(int *); int ncclGetUniqueId(void); const char *ncclGetErrorString(int);\n"
        "int ask(void) { int n; return cudaGetDeviceCount(&n) + ncclGetUniqueId() + *ncclGetErrorString(0); }\n"
    )
    gcc = ["gcc", "-shared", "-fPIC", f"-L{tmp_path}"]
    cudart, nccl = tmp_path / "libcudart.so.9", tmp_path / "libnccl.so.2"
    version = f"-Wl,--version-script={tmp_path / 'map'}"
    subprocess.run(
        [*gcc, str(tmp_path / "real.c"), version, "-Wl,-soname,libcudart.so.9", "-o", str(cudart)], check=True
    )
    subprocess.run([*gcc, str(tmp_path / "plain.c"), "-Wl,-soname,libnccl.so.2", "-o", str(nccl)], check=True)
    user = [str(tmp_path / "user.c"), str(cudart), str(nccl), "-Wl,-rpath,$ORIGIN", "-o", str(lib / "libtorch.so")]
    subprocess.run([*gcc, *user], check=True)
    made = import_module("cuda_standins").make(tmp_path / "torch")
    assert made == ["libcudart.so.9", "libnccl.so.2"]
    assert ctypes.CDLL(str(lib / "libtorch.so")).ask() == 200
