"""A sample of the judge in bench/compare_faults.py: faults are found without a floor, and clean runs stay quiet."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from small import compare

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def judge() -> Any:
    sys.path.insert(0, str(BENCH))
    try:
        import compare_faults
    finally:
        sys.path.remove(str(BENCH))
    return compare_faults


@pytest.mark.parametrize(("model", "name"), [("gan", "ELU"), ("unet", "GELU for SiLU"), ("seq2seq", "a mask"),
                                             ("tagger", "another head")])  # fmt: skip
def test_a_fault_is_found_at_its_place(judge: Any, model: str, name: str, tmp_path: Path) -> None:
    fault = next(fault for fault in {**judge.MODELS, **judge.THIRD}[model]()[1] if fault.name == name)
    base = judge.reference(model, tmp_path / "a", floor=False)
    verdict = compare(base, judge.record(model, tmp_path / "b", name, card=True)).verdict
    assert judge.named(verdict, fault), verdict.message


@pytest.mark.parametrize(
    ("model", "floor", "kind"),
    [
        ("gan", True, "float16 autocast"),
        ("gan", False, "products in bfloat16"),
        ("resnet", False, "float16 autocast"),
        ("resnet", False, "those in bfloat16"),
    ],
)
def test_a_clean_run_stays_quiet(judge: Any, model: str, floor: bool, kind: str, tmp_path: Path) -> None:
    base = judge.reference(model, tmp_path / "a", floor=floor)
    other = judge.record(model, tmp_path / "b", card=True, **judge.CLEAN[kind])
    verdict = compare(base, other).verdict
    assert verdict.answer == "SAME", verdict.message


@pytest.mark.slow
def test_t5_in_float16_and_with_checkpointing_stays_quiet() -> None:
    pytest.importorskip("transformers")
    words = [sys.executable, BENCH / "compare_faults.py", "--models", "t5", "--half", "held"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=900)
    for kind in ("float16 autocast", "checkpointing"):
        assert re.search(rf"^t5 +{kind} +SAME", done.stdout, re.MULTILINE), done.stdout + done.stderr
