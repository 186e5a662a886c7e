"""Triton kernels on the emulated card, with the wheels of triton-ascend and of Triton itself.

`make slow` installs the wheels once; afterwards, or where one is in the environment, `make test` runs a sample too.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from running import Run
from triton_wheels import place

from jumar.tables import tested
from program_files import program_file

WHEELS = [f"{name}=={version}" for name, version in tested.triton().items()]


@pytest.fixture(params=WHEELS)
def wheel(request: pytest.FixtureRequest) -> dict[str, str]:
    """Variables of a program that imports this Triton."""
    folder, reason = place(request.param, install=request.node.get_closest_marker("slow") is not None)
    if reason:
        pytest.skip(reason)
    return {"PYTHONPATH": folder} if folder else {}


def _starting(name: str, *words: Path) -> str:
    """Kernels are read from the file they stand in: a program starts it."""
    path = program_file(__file__, name)
    told = [str(word) for word in words]
    return f"import runpy, sys; sys.argv[1:] = {told}; runpy.run_path({str(path)!r}, run_name='__main__')"


def test_the_card_speaks_as_a_real_one(run: Run, wheel: dict[str, str]) -> None:
    done = run(_starting("triton_card"), **wheel)
    assert done.stdout.endswith("done\n")
    said = [line for line in done.stderr.splitlines() if line.startswith("jumar: Triton kernel")]
    assert [line.split("`")[1] for line in said] == ["counter", "square", "square", "square"]
    assert "`tl.atomic_add` of int64 is not supported on Ascend910B3" in said[0]
    assert "the unified buffer of Ascend910B3 has 196,608" in said[1]
    assert "outside of its tensors (0 bytes behind the end of `x_ptr`)" in said[2]


def test_programs_go_their_own_ways(run: Run, wheel: dict[str, str]) -> None:
    done = run(_starting("triton_together"), **wheel)
    assert done.stdout.endswith("done\n")
    said = [line for line in done.stderr.splitlines() if "an assertion does not hold (below a hundred)" in line]
    assert len(said) == 1, "a kernel that a card would run on is said once"


def test_a_graph_replays_kernels_with_new_contents(run: Run, wheel: dict[str, str]) -> None:
    assert run(_starting("triton_graph"), **wheel).stdout.endswith("done\n")


@pytest.mark.slow
def test_kernels_compute(run: Run, wheel: dict[str, str], tmp_path: Path) -> None:
    run(_starting("triton_kernels", tmp_path / "written"), **wheel)


@pytest.mark.slow
@pytest.mark.parametrize("wheel", [one for one in WHEELS if one.startswith("triton==")], indirect=True)
def test_kernels_write_what_the_interpreter_writes(run: Run, wheel: dict[str, str], tmp_path: Path) -> None:
    """Bit by bit; the interpreter of triton-ascend 3.2 does not run with numpy 2."""
    import torch

    written = []
    for name, interpret in (("ours", "0"), ("theirs", "1")):
        both = {}
        for program in ("triton_kernels", "triton_together"):
            run(_starting(program, tmp_path / name), TRITON_INTERPRET=interpret, **wheel)
            both.update(torch.load(tmp_path / name))
        written.append(both)
    assert written[0].keys() == written[1].keys()
    assert [name for name in written[0] if not torch.equal(written[0][name], written[1][name])] == []


@pytest.mark.slow
def test_configurations_are_compared(run: Run, wheel: dict[str, str]) -> None:
    done = run(_starting("triton_configurations"), JUMAR_TRITON_AUTOTUNE="all", **wheel)
    said = [line for line in done.stderr.splitlines() if "writes other numbers" in line]
    assert len(said) == 1
    assert "`half` writes other numbers to `out` with BLOCK=32 than with BLOCK=128" in said[0]
