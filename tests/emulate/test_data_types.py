"""Data types, layouts, warnings and errors of torch_npu's own code, operator by operator."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from running import Run

from jumar.tables import operators
from program_files import program_text

_CAST = "Device do not support double dtype now, dtype cast replace with float."

_NOT_ALONE = ("attention_lengths", "autocast_lists", "data_types", "double_training", "gradients_of_npu_operators")
"""Programs with gaps to fill in, with rows of errors, with a process group, with thousands of calls."""


def test_types_layouts_and_refusals_are_those_of_torch_npus_source(run: Run) -> None:
    run(program_text(__file__, "data_types"))


def test_every_row_with_a_place_in_the_source_has_a_case() -> None:
    programs = ("data_types", "warnings", "max_pool_masks", "integer_division", "wider_histogram")
    cases = set(re.findall(r"\w+\.cpp:\d+", "".join(program_text(__file__, name) for name in programs)))
    assert {row.source for row in operators.rows() if row.source} <= cases


def test_warnings_are_torch_npus_own_and_come_once(run: Run) -> None:
    said = run(program_text(__file__, "warnings")).stderr
    assert said.count(_CAST) == 1 and "ToKernelNpu.cpp:40]" in said
    for row in operators.rows():
        if row.warns:
            # What goes through torch is a warning of Python where the operator is called by its function.
            by_function = f"UserWarning: {row.warns} (Triggered internally at {row.source}.)"
            forms = [f"{row.source}] Warning: {row.warns}", by_function]
            assert said.count(row.warns) == 1 and any(form in said for form in forms[: 2 if row.cpu_for else 1])
    assert "UserWarning: adaptive_max_pool3d is not supported by NPU currently." in said


def test_warnings_can_be_switched_off(run: Run) -> None:
    said = run(program_text(__file__, "warnings"), TORCH_NPU_WARNING_DISABLE="1").stderr
    assert [row for row in operators.rows() if row.warns and row.warns in said] == [
        row for row in operators.rows() if row.cpu_for
    ]  # those that go through torch are torch's to switch off
    assert _CAST not in said


def test_npu_only_results_are_those_of_torch_npus_meta_functions(run: Run) -> None:
    names = sorted(path.stem for path in Path(__file__).with_name("programs").glob("*.py"))
    alone = [name for name in names if name not in (*_NOT_ALONE, "meta_functions") and not name.startswith("compile_")]
    texts = {name: program_text(__file__, name) for name in alone}
    of_npu = {name: text for name, text in texts.items() if re.search(r"npu\.npu_|ops\.npu\b", text)}
    done = run(program_text(__file__, "meta_functions"), PROGRAMS=json.dumps(of_npu))
    compared, differences = json.loads(done.stdout.splitlines()[-1])
    assert len(compared) >= 20
    assert differences == []


def test_training_in_double_is_training_in_float32(run: Run) -> None:
    run(program_text(__file__, "double_training"))


def test_other_chips_have_other_rows(run: Run) -> None:
    run(program_text(__file__, "data_types_older_chip"), JUMAR_SOC="Ascend310P3")
    run(program_text(__file__, "data_types_950"), JUMAR_SOC="Ascend950PR_9589")


def test_pooling_keeps_a_mask_or_positions_as_torch_npu_does(run: Run) -> None:
    run(program_text(__file__, "max_pool_masks"), JUMAR_SOC="Ascend910B3")
    run(program_text(__file__, "max_pool_masks"), JUMAR_SOC="Ascend950PR_9589")
    run(program_text(__file__, "max_pool_masks"), JUMAR_SOC="Ascend910B3", TORCH_NPU_USE_COMPATIBLE_IMPL="1")


def test_kernels_of_the_card_say_nothing_about_determinism(run: Run) -> None:
    run(program_text(__file__, "deterministic_mode"))


@pytest.mark.parametrize("low", ["float16", pytest.param("bfloat16", marks=pytest.mark.slow)])
def test_autocast_keeps_to_torch_npus_lists(run: Run, low: str) -> None:
    run(program_text(__file__, "autocast_lists"), LOW=low)
