"""The C++ tests of the stand-ins, and the lists they are made from."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest

from jumar.emulate import env

_ROOT = Path(__file__).resolve().parents[2]


def test_installed_library_passes_the_cpp_tests(built: None, tmp_path: Path) -> None:
    library = env.library_dir() / "libjumar_ascend.so"
    _build(_ROOT / "native" / "tests", tmp_path, f"-DJUMAR_LIBRARY={library}")
    _run(["ctest", "--test-dir", str(tmp_path), "--output-on-failure"])


@pytest.mark.slow
@pytest.mark.parametrize("flags", ["", "-fsanitize=address,undefined", "-fsanitize=thread"])
def test_debug_builds_pass_the_cpp_tests(tmp_path: Path, flags: str) -> None:
    _build(_ROOT, tmp_path, "-DJUMAR_NATIVE_TESTS=ON", f"-DCMAKE_CXX_FLAGS={flags}")
    _run(["ctest", "--test-dir", str(tmp_path / "native" / "tests"), "--output-on-failure"])


def test_stand_ins_cover_the_installed_wheel() -> None:
    spec = util.find_spec("torch_npu")
    if spec is None or spec.origin is None:
        pytest.skip("torch_npu is not installed: pip install 'jumar[emulator]'")
    _run([sys.executable, str(_ROOT / "tools" / "symbols.py"), str(Path(spec.origin).parent), "--check"])


def _build(source: Path, place: Path, *options: str) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    python = f"-DPython3_EXECUTABLE={sys.executable}"
    _run(["cmake", "-S", str(source), "-B", str(place), python, "-DCMAKE_BUILD_TYPE=Debug", *options])
    _run(["cmake", "--build", str(place), "--parallel", "2"])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
