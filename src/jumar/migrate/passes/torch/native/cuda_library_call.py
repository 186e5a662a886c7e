"""Calls of the CUDA runtime and its libraries in C++; one finding for a file, at the first place."""

from __future__ import annotations

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


_SHOWN = 3
_FIX = "AscendCL has functions of the same purpose under `acl…`; in extensions use torch's device-neutral API"


def visit_items(items: list[Item], file: TextFile) -> Iterator[Finding]:
    calls = [item for item in items if item.kind == "call"]
    if not calls:
        return
    names = list(dict.fromkeys(item.name for item in calls))
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    times = f" ({len(calls)} places in this file)" if len(calls) > 1 else ""
    message = f"{shown}{more} {'belongs' if len(names) == 1 else 'belong'} to CUDA{times}"
    first = calls[0]
    yield file.report(RULE, (first.start, first.end), State.UNSUPPORTED, message, _FIX, subject=first.name)
