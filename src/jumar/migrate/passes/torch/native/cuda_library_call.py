"""Calls of the CUDA runtime and its libraries in C++; one finding for each function, at its first place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jumar.core.finding import Finding, Safety, State
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.native import Item
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="CU103",
    name="cuda-library-call",
    summary="a function of the CUDA runtime or of a CUDA library",
    keywords=("cuda", "cublas", "cudnn", "cufft", "curand", "cusolver", "cusparse", "nccl", "cub::", "thrust::"),
    safety=Safety.SHOW,
)


def visit_items(items: list[Item], file: TextFile) -> Iterator[Finding]:
    calls = [item for item in items if item.kind == "call"]
    count = Counter(item.name for item in calls)
    told: set[str] = set()
    for item in calls:
        if item.name in told:
            continue
        told.add(item.name)
        times = f" ({count[item.name]} times in this file)" if count[item.name] > 1 else ""
        message = f"`{item.name}` belongs to CUDA{times}"
        fix = "AscendCL has functions of the same purpose under `acl…`; in extensions use torch's device-neutral API"
        yield file.report(RULE, (item.start, item.end), State.UNSUPPORTED, message, fix, subject=item.name)
