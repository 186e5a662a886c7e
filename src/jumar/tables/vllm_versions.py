"""Which vLLM, CANN and torch belong to a release of vllm-ascend."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from jumar.tables.load import table

SOURCE = "vllm-project/vllm-ascend docs/source/community/versioning_policy.md"


class Row(NamedTuple):
    """A row of data/vllm_ascend_versions.toml."""

    vllm_ascend: str
    vllm: str
    cann: str
    torch: str


@cache
def find(vllm_ascend: str) -> Row | None:
    """The row of exactly this release; its local part (`+empty`) does not count."""
    wanted = vllm_ascend.split("+")[0].lower()
    rows = (Row(*row) for row in table("vllm_ascend_versions.toml")["releases"])
    return next((row for row in rows if row.vllm_ascend == wanted), None)
