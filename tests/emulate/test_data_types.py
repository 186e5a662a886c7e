"""Data types, layouts, warnings and errors of torch_npu's own code, operator by operator."""

from __future__ import annotations

import re

from running import Run

from jumar.tables import operators
from program_files import program_text

_CAST = "Device do not support double dtype now, dtype cast replace with float."


def test_types_layouts_and_refusals_are_those_of_torch_npus_source(run: Run) -> None:
    run(program_text(__file__, "data_types"))


def test_every_row_with_a_place_in_the_source_has_a_case() -> None:
    cases = set(re.findall(r"\w+\.cpp:\d+", program_text(__file__, "data_types") + program_text(__file__, "warnings")))
    assert {row.source for row in operators.rows() if row.source} <= cases


def test_warnings_are_torch_npus_own_and_come_once(run: Run) -> None:
    said = run(program_text(__file__, "warnings")).stderr
    assert said.count(_CAST) == 1 and "ToKernelNpu.cpp:40]" in said
    for row in operators.rows():
        if row.warns:
            assert said.count(row.warns) == 1 and f"{row.source}] Warning: {row.warns}" in said


def test_warnings_can_be_switched_off(run: Run) -> None:
    said = run(program_text(__file__, "warnings"), TORCH_NPU_WARNING_DISABLE="1").stderr
    assert not [row for row in operators.rows() if row.warns and row.warns in said] and _CAST not in said


def test_training_in_double_is_training_in_float32(run: Run) -> None:
    run(program_text(__file__, "double_training"))


def test_other_chips_have_other_rows(run: Run) -> None:
    run(program_text(__file__, "data_types_older_chip"), JUMAR_SOC="Ascend310P3")
    run(program_text(__file__, "data_types_950"), JUMAR_SOC="Ascend950PR_9589")
