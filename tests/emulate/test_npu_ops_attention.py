"""Fusion attention on the emulated card against attention written out, with numerical gradients."""

from __future__ import annotations

import pytest
from running import Run

from program_files import program_text

_LAYOUTS = program_text(__file__, "attention_layouts")

_VARLEN = program_text(__file__, "attention_lengths")

_DROPOUT = program_text(__file__, "attention_dropout")

_SDPA = program_text(__file__, "attention_sdpa")

_INFERENCE = program_text(__file__, "attention_caches")


def test_every_layout_gives_the_written_out_result_and_gradients(run: Run) -> None:
    run(_LAYOUTS)


@pytest.mark.parametrize("modes", ["0 2", "3 4"])
def test_sequences_of_their_own_length_follow_the_sparse_mode(run: Run, modes: str) -> None:
    run(_VARLEN, MODES=modes)


def test_dropout_is_that_of_the_seed_it_returns(run: Run) -> None:
    run(_DROPOUT)


def test_scaled_dot_product_attention_equals_the_cpu(run: Run) -> None:
    run(_SDPA)


def test_rows_that_are_hidden_as_a_whole_take_the_mean(run: Run) -> None:
    run(program_text(__file__, "attention_hidden_rows"))


def test_caches_in_pages_and_with_lengths(run: Run) -> None:
    run(_INFERENCE)


def test_inference_in_eight_bits(run: Run) -> None:
    said = run(program_text(__file__, "attention_int8")).stdout
    assert "npu_fused_infer_attention_score" in said and "without some of them" in said


def test_wrong_arguments_are_refused_in_the_words_of_torch_npu(run: Run) -> None:
    program = program_text(__file__, "attention_refusals")
    assert run(program).stdout.splitlines() == [
        "The keep_prob value must be in range of (0, 1], but got 0.0",
        "The sparse_mode value must be in range of [0,6], but got 9",
        "head_num must > 0, but got 0",
        "The input_layout should be BSH/SBH/BNSD/BSND/TND(case-insensitive), but got XYZ",
    ]


def test_keys_that_an_index_chose_are_attended_to(run: Run) -> None:
    program = program_text(__file__, "selected_keys")
    run(program)
