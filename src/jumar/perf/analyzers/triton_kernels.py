"""Triton kernels as a card runs them: grids against cores, types of the vector unit, alignment, access to memory.

After triton-ascend's docs/en/migration_guide (migrate_from_gpu.md, performance_guidelines.md) and programming_guide.md,
2026-04-27. The emulator writes what kernels did; a profile of a card has no such file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from jumar.perf.facts import Facts
from jumar.perf.result import MODELLED, Advice
from jumar.perf.unit import Unit, times
from jumar.runtime.triton_launches import KernelFacts, read

ADVICE = Unit("PF114", "triton-kernel", "a Triton kernel that does not fit the cores, types or memory of a card")


def look(facts: Facts) -> Iterator[Advice]:
    path = Path(facts.profile.path)
    for folder in (path, *path.parents)[:4]:  # parents have no slices before Python 3.10
        if kernels := read(folder):
            for kernel in kernels:
                yield from _of(kernel)
            return


def _of(kernel: KernelFacts) -> Iterator[Advice]:
    unit = "cube" if kernel.dot else "vector"
    if kernel.programs > kernel.cores:
        batches = -(-kernel.programs // kernel.cores)
        yield _advice(
            kernel,
            "grid",
            f"`{kernel.kernel}` starts {kernel.programs:,} programs on {kernel.cores} {unit} cores:"
            f" {batches:,} batches, one after the other",
            f"start {kernel.cores} programs, and let each loop over its blocks",
            "or set TRITON_ALL_BLOCKS_PARALLEL=1, if the programs do not depend on each other",
        )
    elif kernel.programs < kernel.cores:
        yield _advice(
            kernel,
            "grid",
            f"`{kernel.kernel}` starts {times(kernel.programs, 'program')}: {kernel.cores} {unit} cores are there",
            "divide the work into smaller blocks",
        )
    if kernel.slow:
        yield _advice(
            kernel,
            "types",
            f"`{kernel.kernel}` computes blocks element by element: {', '.join(kernel.slow)}",
            "compute offsets in int32; compare in float32 where the numbers are below 2^24",
        )
    if kernel.tails:
        size = 512 if kernel.dot else 32
        yield _advice(
            kernel,
            "alignment",
            f"`{kernel.kernel}` has blocks that are padded to {size} bytes in each row: {', '.join(kernel.tails[:4])}",
            f"make the last axis a multiple of {size} bytes, or load the block as one axis",
        )
    if kernel.scattered:
        yield _advice(
            kernel,
            "memory access",
            f"`{kernel.kernel}` reads or writes elements that lie apart in memory: {', '.join(kernel.scattered[:4])}",
            "let the last axis of the block run along the last axis of the tensor, and transpose with tl.trans",
        )


def _advice(kernel: KernelFacts, what: str, message: str, *change: str) -> Advice:
    evidence = (times(kernel.launches, "launch").replace("launchs", "launches"),)
    return Advice(ADVICE.id, f"{ADVICE.name}: {what}", message, 0.0, MODELLED, evidence, change, kernel.where)
