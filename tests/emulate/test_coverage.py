"""The public list of what is emulated."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.emulate import coverage
from jumar.tables import tested

Jumar = Callable[..., Any]
_ROOT = Path(__file__).resolve().parents[2]
NPU = tested.pair().torch_npu


def test_every_no_op_has_a_reason_and_every_state_a_meaning() -> None:
    found = coverage.read()
    assert all(item.reason for item in found.functions if item.state == "noop")
    assert {item.state for item in found.functions} <= set(coverage.STATES)
    for states in found.operators.values():
        assert set(states) <= set(coverage.OPERATORS)
        names = [name for listed in states.values() for name in listed]
        assert len(names) == len(set(names))


def test_list_is_printed_in_three_ways(jumar: Jumar) -> None:
    text = jumar("emulate", "coverage")
    assert text.code == 0
    assert f"operators of torch_npu {NPU}:" in text.out
    document = json.loads(jumar("emulate", "coverage", "--json").out)
    assert {"functions", "operators", "absent_libraries"} <= set(document)
    page = jumar("emulate", "coverage", "--markdown").out
    assert page == (_ROOT / "docs" / "reference" / "emulator-coverage.md").read_text(encoding="utf-8")


def test_one_name_is_looked_up(jumar: Jumar) -> None:
    assert "aclrtMalloc of libascendcl.so: works" in jumar("emulate", "coverage", "aclrtMalloc").out
    assert f"mm in torch_npu {NPU}: native" in jumar("emulate", "coverage", "aten::mm").out
    assert "ge::Session::AddGraph of libgraph.so: refused" in jumar("emulate", "coverage", "ge::Session::AddGraph").out
    assert f"npu::npu_rms_norm in torch_npu {NPU}: npu_only" in jumar("emulate", "coverage", "npu_rms_norm").out
    wrong = jumar("emulate", "coverage", "aclrtMaloc")
    assert wrong.code == 2
    assert "did you mean `aclrtMalloc`?" in wrong.err


def test_recorded_operators_are_those_of_the_emulator(emulator: None, run: Any) -> None:
    tool = str(_ROOT / "tools" / "refresh_emulated_operators.py")
    done = run(
        f"import sys; sys.argv = ['x', '--check']; import runpy; runpy.run_path({tool!r}, run_name='__main__')",
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_pieces_of_names_are_told_from_new_names() -> None:
    code = """
import sys; sys.path.insert(0, "tools")
import symbols
known = {"AmlAicoreDetectOnline", "AmlP2PDetectOnline", "aclnnMoeDistributeCombine"}
words = frozenset({"AmlAicoreDetectOAmlP2PDetectOnlilibopapi", "aclnnMoeDistributeCombineSetup"})
print(symbols.missing_names(symbols.Needs(frozenset(), words, frozenset()), known))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=_ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "['aclnnMoeDistributeCombineSetup']\n"


@pytest.mark.parametrize("symbol", ["_ZN2ge7Session8RunGraphEjRKSt6vectorINS_6TensorESaIS2_EERS4_", "aclrtCreateEvent"])
def test_symbols_of_other_releases_are_exported(emulator: None, symbol: str) -> None:
    code = f"import ctypes; from jumar.emulate import env; ctypes.CDLL(str(env.libraries()[0])).{symbol}"
    subprocess.run([sys.executable, "-c", code], check=True)
