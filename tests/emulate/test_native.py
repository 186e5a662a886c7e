"""The C++ tests of the stand-ins, and the lists they are made from."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("flags", ["", "-fsanitize=address,undefined", "-fsanitize=thread"])
def test_cpp_tests_pass(tmp_path: Path, flags: str) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    configure = [
        "cmake",
        "-S",
        str(_ROOT),
        "-B",
        str(tmp_path),
        "-DJUMAR_NATIVE_TESTS=ON",
        f"-DCMAKE_CXX_FLAGS={flags}",
    ]
    _run([*configure, f"-DPython3_EXECUTABLE={sys.executable}", "-DCMAKE_BUILD_TYPE=Debug"])
    _run(["cmake", "--build", str(tmp_path)])
    _run(["ctest", "--test-dir", str(tmp_path / "native"), "--output-on-failure"])


def test_stand_ins_cover_the_installed_wheel() -> None:
    spec = util.find_spec("torch_npu")
    if spec is None or spec.origin is None:
        pytest.skip("torch_npu is not installed: pip install 'jumar[emulator]'")
    _run([sys.executable, str(_ROOT / "tools" / "symbols.py"), str(Path(spec.origin).parent), "--check"])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
