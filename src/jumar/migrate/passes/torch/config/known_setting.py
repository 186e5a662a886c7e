"""Settings of DeepSpeed, accelerate, mmengine and others that the table knows: rewritten, idle or missing."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.document import ONLY_NPU
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.entry import ConfigEntry, Kind
from jumar.migrate.textfile import TextFile
from jumar.tables.settings import setting

RULE = Rule(
    id="YM102",
    name="known-setting",
    summary="a setting of a well-known program that means something else on an NPU",
    keywords=(
        "cuda",
        "cudnn",
        "multi_gpu",
        "fused",
        "onebit",
        "zeroone",
        "lamb",
        "sparse_attention",
        "tf32",
        "opt_level",
        "per_gpu",
    ),
)


def visit_entry(entry: ConfigEntry, file: TextFile) -> Iterator[Finding]:
    if entry.kind in (Kind.OPEN, Kind.BLOCK):
        return
    row = setting(entry.path, entry.value)
    if row is None:
        return
    at = (min(entry.key_start, entry.start), entry.end)
    message = f"`{row.key}` is `{entry.value}`: {row.note}"
    if row.new is not None and entry.is_exact:
        edit = file.replace((entry.start, entry.end), row.new)
        yield file.rewrite(
            RULE, at, f"`{row.key}`: `{entry.value}` becomes `{row.new}`: {row.note}", edit, styles=ONLY_NPU
        )
    else:
        state = State.HAND if row.state is State.REWRITTEN else row.state
        yield file.report(RULE, at, state, message, subject=entry.key)
