"""Operators that exchange data with other cards inside one kernel."""

from __future__ import annotations

from ranks import Ranks

from program_files import program_text


def test_products_and_experts_over_several_ranks_are_those_of_one(ranks: Ranks) -> None:
    source = program_text(__file__, "group_operators")
    said = ranks(4, source).said
    assert said == [["The M-axis in input of Matmul should be be divisible by world_size."]] * 4


def test_a_refusal_in_one_rank_ends_the_others(ranks: Ranks) -> None:
    source = program_text(__file__, "group_refusal")
    assert ranks(2, source, check=False).said == [[["NotImplementedError", True], True], [["RuntimeError", True], True]]


def test_products_of_mindspore_over_several_ranks_are_those_of_separate_steps(ranks: Ranks) -> None:
    source = program_text(__file__, "group_products")
    assert ranks(4, source).said == [["reduce_op should be sum, but got max"]] * 4
