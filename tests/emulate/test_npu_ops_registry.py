"""NPU-only operators: what is declared fits torch_npu's schemas; what is not refuses by name."""

from __future__ import annotations

from running import Run

from program_files import program_text

_SIGNATURES = program_text(__file__, "operator_signatures")

_REFUSALS = program_text(__file__, "operator_refusals")


def test_functions_have_the_defaults_of_the_schemas(run: Run) -> None:
    assert int(run(_SIGNATURES).stdout) > 200


def test_an_unknown_operator_refuses_by_name_and_host_tensors_stay_refused(run: Run) -> None:
    first, second, third = run(_REFUSALS).stdout.splitlines()
    assert first == (
        "npu::npu_fused_attention_layernorm_qkv_fwd is not implemented by the emulator; "
        "`jumar emulate coverage` lists what is"
    )
    assert second.startswith("npu::npu_quant_matmul_all_to_all exchanges data with other cards inside one kernel")
    assert third == "True"


def test_results_come_from_the_card_and_changes_reach_it(run: Run) -> None:
    program = program_text(__file__, "results_of_npu_operators")
    run(program)
