"""The table of operators against the installed torch_npu, and the C++ made from it."""

from __future__ import annotations

import json

import pytest
from running import Run

from jumar.core.errors import UserError
from jumar.emulate.glue import composite, generate, sparse
from jumar.tables import operators
from program_files import program_text


def test_every_row_fits_an_operator_of_the_installed_version(run: Run) -> None:
    schemas = json.loads(run(program_text(__file__, "operator_schemas")).stdout)
    for row in operators.rows():
        if row.name.startswith(operators.COMPANIONS):
            continue
        matched = {name: schema for name, schema in schemas.items() if row.matches(name)}
        assert matched, f"{row.name}: no operator has this name"
        arguments = {argument for names, _ in matched.values() for argument in names}
        assert {*row.index, *row.written, *row.host} <= arguments, f"{row.name}: no such argument"
        results = max(count for _, count in matched.values())
        named = (*row.float32_results, *row.host_results, *row.int32_results)
        assert all(result < results for result in named), row.name


def test_compositions_of_ours_are_the_rows_that_say_python() -> None:
    carried = {row.name for row in operators.rows() if row.carried == "python"}
    assert {f"aten::{name}" for name in (*composite.kernels(), *sparse.kernels())} == carried


def test_the_header_is_sorted_and_the_same_each_time() -> None:
    text = generate.header()
    assert text == generate.header()
    rows = text.split("kPatterns")[0].splitlines()
    names = [line.split('"')[1] for line in rows if ".name" in line]
    assert names == sorted(names) and len(names) > 100
    assert '{.name = "aten::one_hot", .index = {"self"}, .computing = {.index_result = true}},' in text
    assert ".carried = Carried::kTorchNpu, .keeps_autograd = true" in text
    assert '.carried = Carried::kTorchNpu, .calls = "npu::_npu_moe_token_unpermute"}' in text
    assert '.host = {"lengths"}, .computing = {.host_results = 2u, .mixes_devices = true}' in text


def test_a_wrong_row_stops_the_build_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operators, "table", lambda name: {"aten": {"add": {"carried": "torch_npu"}}})
    operators.rows.cache_clear()
    try:
        with pytest.raises(UserError, match=r"operators\.toml: `aten::add`: `why` is missing"):
            generate.header()
    finally:
        operators.rows.cache_clear()


def test_numbers_of_classes_may_be_short(run: Run) -> None:
    run(program_text(__file__, "short_class_numbers"))


def test_a_type_the_cpu_lacks_is_computed_wider_and_other_errors_stay(run: Run) -> None:
    assert "not implemented for 'Bool'" in run(program_text(__file__, "wider_histogram")).stdout


def test_integers_divided_in_place_are_cut_off(run: Run) -> None:
    run(program_text(__file__, "integer_division"))


def test_the_950_refuses_a_quotient_of_integers(run: Run) -> None:
    program = "import torch\ntry: torch.ones(2, dtype=torch.int64).npu().div_(2)\nexcept RuntimeError as e: print(e)"
    assert "can't be cast" in run(program, JUMAR_SOC="Ascend950PR_9589").stdout
