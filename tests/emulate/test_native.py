"""The C++ tests of the stand-ins, and the lists they are made from."""

from __future__ import annotations

import ctypes
import importlib
import re
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path
from types import ModuleType

import pytest

from jumar.core.compat import tomllib
from jumar.emulate import env

_ROOT = Path(__file__).resolve().parents[2]
_LISTS = [_ROOT / "native" / "api" / name for name in ("opapi.toml", "mindspore/opapi.toml")]


def test_installed_library_passes_the_cpp_tests(built: None, tmp_path: Path) -> None:
    library = env.library_dir() / "libjumar_ascend.so"
    _build(_ROOT / "native" / "tests", tmp_path, f"-DJUMAR_LIBRARY={library}")
    _run([_tool("ctest"), "--test-dir", str(tmp_path), "--output-on-failure"])


@pytest.mark.slow
@pytest.mark.parametrize("flags", ["", "-fsanitize=address,undefined -fno-sanitize-recover=all", "-fsanitize=thread"],
                         ids=["plain", "address-undefined", "thread"])  # fmt: skip
def test_debug_builds_pass_the_cpp_tests(tmp_path: Path, flags: str) -> None:
    _build(_ROOT, tmp_path, "-DJUMAR_NATIVE_TESTS=ON", f"-DCMAKE_CXX_FLAGS={flags}")
    _run([_tool("ctest"), "--test-dir", str(tmp_path / "native" / "tests"), "--output-on-failure"])


def test_stand_ins_cover_the_installed_wheel() -> None:
    spec = util.find_spec("torch_npu")
    if spec is None or spec.origin is None:
        pytest.skip("torch_npu is not installed: pip install 'jumar[emulator]'")
    _run([sys.executable, str(_ROOT / "tools" / "symbols.py"), str(Path(spec.origin).parent), "--check"])


def _build(source: Path, place: Path, *options: str) -> None:
    python = f"-DPython3_EXECUTABLE={sys.executable}"
    _run([_tool("cmake"), "-S", str(source), "-B", str(place), python, "-DCMAKE_BUILD_TYPE=Debug", *options])
    _run([_tool("cmake"), "--build", str(place), "--parallel", "2"])


def _tool(name: str) -> str:
    """The system's, or the one of this environment: the extra `dev` has it."""
    return shutil.which(name) or str(Path(sys.executable).with_name(name))


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    assert done.returncode == 0, done.stdout + done.stderr


def _generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(_ROOT / "tools")
    return importlib.import_module("generate_native")


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ("In self, Tensor out", "unknown type `Tensor` in `Tensor out`"),
        ("In self, Out", "`Out` is not `TYPE name`"),
        ("In self, Out self", "a parameter is there twice: In self, Out self"),
    ],
)
def test_parameters_that_no_kernel_can_have_stop_the_build(
    parameters: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit) as raised:
        _generator(monkeypatch).check_parameters("opapi.toml: aclnnAdd", parameters)
    assert str(raised.value).startswith(f"opapi.toml: aclnnAdd: {problem}")


def test_every_operator_call_that_works_has_parameters_and_a_kernel(built: None) -> None:
    library = ctypes.CDLL(str(env.libraries()[0]))
    works = {name: text for path in _LISTS for name, text in tomllib.loads(path.read_text("utf-8"))["works"].items()}
    assert len(works) > 250
    kernels = "\n".join(path.read_text("utf-8") for path in (_ROOT / "native" / "aclnn").glob("*.cpp"))
    assert "OPERATOR(aclnnAdd, scaled_add(" in kernels  # names only: the order of the parameters stands in the row
    for name in works:
        assert hasattr(library, name) and hasattr(library, f"{name}GetWorkspaceSize"), name


def test_general_names_are_exported_by_their_own_library_alone(built: None) -> None:
    code, door = (
        ctypes.CDLL(str(env.library_dir() / f"lib{name}.so")) for name in ("jumar_ascend", "hcom_graph_adaptor")
    )
    code.aclGetRecentErrMsg.restype = ctypes.c_char_p
    for name in ("Initialize", "Finalize", "GetOpsKernelInfoStores"):  # of these, MindSpore 2.8 links two, 2.7.0 all
        assert not hasattr(code, name)
        assert hasattr(door, name)
    assert door.Initialize(None) == door.Finalize() == 0
    assert door.HcomExecInitialize() == door.HcomExecFinalize() == 0
    for name in ("HcomExecEnqueueOperation", "HcomCreateGroup"):
        assert door[name](None) != 0
        assert name in code.aclGetRecentErrMsg().decode()


def test_faults_of_hccl_have_codes_of_the_vendor() -> None:
    rows = tomllib.loads((_ROOT / "native" / "api" / "hccl.toml").read_text("utf-8"))["faults"]
    codes = set(re.findall(r"^  (HCCL_E_\w+) =", (_ROOT / "native" / "machine" / "codes.h").read_text("utf-8"), re.M))
    numbers = set(re.findall(r"\bEI\d{4}\b", (_ROOT / "src" / "jumar" / "data" / "errors.toml").read_text("utf-8")))
    assert list(rows) == sorted(rows)
    for name, row in rows.items():
        assert row["code"] in codes, name
        assert row.get("number", "EI0002") in numbers, name
        assert row["meaning"], name


def test_no_message_of_hccl_is_searched_for_words() -> None:
    sources = "\n".join(path.read_text("utf-8") for path in (_ROOT / "native" / "hccl").glob("*.cpp"))
    assert "EI0" not in sources  # numbers are put in front of a message by its fault
    assert not re.search(r'(==|!=|\.find\()\s*"(is |has )', sources)
