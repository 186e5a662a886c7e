"""Libraries that have no NPU form of their own: what Jumar supplies for them."""

from __future__ import annotations

from pathlib import Path

from running import Run

from program_files import program_text

_PROGRAMS = Path(__file__).parent / "programs"


def test_torchvision_and_torchaudio_without_their_compiled_parts(run: Run) -> None:
    path = str(_PROGRAMS / "without_compiled_part")
    assert run(program_text(__file__, "torchvision_operators"), PYTHONPATH=path).stdout == "done\n"


def test_lightning_trains_on_a_card(run: Run, tmp_path: Path) -> None:
    done = run(program_text(__file__, "lightning_trains"), OUT=str(tmp_path), JUMAR_CARDS="3")
    assert done.stdout.splitlines()[-1] == "done"


def test_operators_of_vllm_ascend(run: Run) -> None:
    refused, done = run(program_text(__file__, "vllm_operators")).stdout.splitlines()
    assert refused.startswith("_C_ascend::dispatch_prefill is not implemented by the emulator")
    assert done == "done"


def test_a_forked_child_computes_where_its_parent_had_threads(run: Run) -> None:
    """vLLM's engine is such a child."""
    assert run(program_text(__file__, "forked_child")).stdout.splitlines() == ["child computed", "0"]
