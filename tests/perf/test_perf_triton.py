"""Advice on Triton kernels, from the file that the emulator writes beside a profile."""

from __future__ import annotations

from pathlib import Path

from profiles import chain, folder

from jumar.perf import analyse
from jumar.runtime.triton_launches import KernelFacts, write

GOOD = KernelFacts("add", "kernels.py:5", 3, 40, 40, dot=False)


def _said(place: Path, *kernels: KernelFacts) -> list[str]:
    profile = folder(place / "run", chain("add"))
    write(place, kernels)
    return [f"{one.where} {one.message}" for one in analyse.report(profile).advice if one.id == "PF114"]


def test_a_kernel_that_fits_is_left_alone(tmp_path: Path) -> None:
    assert _said(tmp_path, GOOD) == []


def test_each_trait_of_a_kernel_is_named(tmp_path: Path) -> None:
    said = _said(
        tmp_path,
        GOOD._replace(kernel="many", programs=2048),
        GOOD._replace(kernel="few", where="kernels.py:50", programs=1, dot=True, cores=20),
        GOOD._replace(kernel="long", slow=("addition of int64",)),
        GOOD._replace(kernel="odd", tails=("8x3 of fp16",)),
        GOOD._replace(kernel="apart", scattered=("64 of fp32",)),
    )
    assert len(said) == 5
    for word in ("2,048 programs on 40 vector cores: 52 batches", "1 program: 20 cube cores", "addition of int64",
                 "padded to 32 bytes in each row: 8x3", "lie apart in memory: 64 of fp32"):  # fmt: skip
        assert sum(word in one for one in said) == 1, (word, said)
    assert all(one.startswith("kernels.py:5") for one in said)
