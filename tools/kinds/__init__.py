"""What `tools/new.py` can write: one module per kind, found by its place.

A kind has `HELP`, `EXAMPLE` (a name), `PATTERN` (of a name), `NEXT` (what to do then), `options(parser)` and
`make(given, root)`, which raises ValueError for a wish it cannot meet.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Made:
    """Files by path, with their whole text."""

    new: dict[Path, str] = field(default_factory=dict)
    changed: dict[Path, str] = field(default_factory=dict)


def snake(name: str) -> str:
    """`aclnnSwiGluGrad` as `aclnn_swi_glu_grad`, `cuda-thing` as `cuda_thing`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|-", "_", name).lower().replace("__", "_").strip("_")
