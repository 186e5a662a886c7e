"""`torch.compile` on emulated cards: inductor, NPU graphs, and what is refused by name."""

from __future__ import annotations

import pytest
from ranks import Ranks
from running import Run
from triton_wheels import place

from jumar.tables import tested
from program_files import program_file, program_text

_ALONE = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCH_WARM_POOL": "0"}
"""No processes that wait for kernels to compile: these programs have a few."""


def test_inductor_compiles_for_cards_and_replays_graphs(run: Run) -> None:
    said = run(program_text(__file__, "compile_card"), **_ALONE).stdout.splitlines()
    assert said[:3] == ["forward True npu:0", "backward True", "memory of the result 512"]
    assert said[3] == "dropout True [(3, 5), (3, 2)]"
    assert said[4] == "replayed [True, True, True, True] 2"


@pytest.mark.slow
def test_compilers_that_are_not_emulated_name_the_way_out(run: Run) -> None:
    said = run(program_text(__file__, "compile_refused"), **_ALONE).stdout.splitlines()
    dvm, wrapper, npu, torchair, compiler = said
    assert "jumar: inductor's `cpp_wrapper` and AOTInductor launch binaries of a card" in wrapper
    assert dvm.startswith("dvm: ") and "jumar: inductor's `dvm` backend needs a compiler of CANN" in dvm
    assert 'hint: leave `TORCHINDUCTOR_NPU_BACKEND` and the option `npu_backend` at "default"' in dvm
    for line in (npu, torchair):
        assert "jumar: torchair compiles with CANN's graph engine (GE), which is not emulated" in line
        assert "hint: use `torch.compile(model)`" in line and 'backend="npugraph_ex"' in line
    assert "jumar: `torch.compile` needs a C++ compiler on the emulator, but `g++` was not found" in compiler
    assert "hint: sudo apt install g++" in compiler


@pytest.mark.slow
def test_functions_of_many_families_give_the_numbers_of_the_uncompiled(run: Run) -> None:
    said = run(program_text(__file__, "compile_families"), check=False, limit=3600).stdout.splitlines()
    assert len(said) > 40
    assert [line for line in said if ": equal (" not in line] == []


@pytest.mark.slow
def test_models_and_ways_of_compiling_give_the_numbers_of_the_uncompiled(run: Run) -> None:
    said = run(program_text(__file__, "compile_models"), check=False, limit=3600).stdout.splitlines()
    assert len(said) > 25
    assert [line for line in said if ": equal (" not in line] == []


@pytest.mark.slow
def test_kernels_in_triton_run_inside_of_compiled_functions(run: Run) -> None:
    folder, reason = place(f"triton-ascend=={tested.triton()['triton-ascend']}", install=True)
    if reason:
        pytest.skip(reason)
    path = str(program_file(__file__, "compile_triton"))  # kernels are read from the file they stand in
    said = run(f"import runpy; runpy.run_path({path!r})", **_ALONE, PYTHONPATH=folder).stdout.splitlines()
    assert said == ["False 1000 True", "True 300 True", "True 777 True"]


@pytest.mark.slow
def test_compiled_kernels_wait_for_the_collectives_of_their_stream(ranks: Ranks) -> None:
    for plain, compiled, difference in ranks(2, program_text(__file__, "compile_ranks"), limit=900).said:
        assert compiled == pytest.approx(plain, rel=1e-3)
        assert difference < 1e-5


@pytest.mark.slow
def test_graphs_of_compiled_attention_get_the_lengths_of_each_call(run: Run) -> None:
    said = run(program_text(__file__, "compile_updates"), **_ALONE).stdout.splitlines()
    assert said == [f"{length} True" for length in (7, 48, 20, 21, 33, 7)]
