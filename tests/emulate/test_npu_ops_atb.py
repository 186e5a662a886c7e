"""The operators of ATB (`torch_npu.atb`), for which the stand-ins bring a `libatb.so`."""

from __future__ import annotations

from running import Run

from program_files import program_text


def test_attention_caches_and_rotation_are_the_formulas(run: Run) -> None:
    program = program_text(__file__, "atb_operators")
    run(program)


def test_latent_attention_and_the_way_into_its_cache(run: Run) -> None:
    program = program_text(__file__, "atb_latent")
    assert run(program).stdout == "Unsupported cache_mode value: 'other'\n"
