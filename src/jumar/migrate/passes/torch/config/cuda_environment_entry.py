"""An environment variable of CUDA or NCCL as a key, a `NAME=value` item or a `name:` of a configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate.document import ONLY_NPU
from jumar.migrate.passes.torch.variables import verdict
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.entry import ConfigEntry, Kind
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="YM104",
    name="cuda-environment-entry",
    summary="an environment variable of CUDA or NCCL in a configuration",
    keywords=("cuda", "nccl", "nvidia", "nvte", "cublas", "cudnn"),
)
_ITEM = re.compile(r"([A-Z][A-Z0-9_]+)=(.*)", re.S)
_DYNAMIC = re.compile(r"[${]")


def visit_entry(entry: ConfigEntry, file: TextFile) -> Iterator[Finding]:
    item = _ITEM.fullmatch(entry.value) if entry.path[-1:] == ("[]",) else None
    if item:
        yield from _pair(entry, file, item.group(1), item.group(2), (entry.start, entry.start + len(item.group(1))))
    elif entry.path[-1:] == ("name",) and re.fullmatch(r"[A-Z][A-Z0-9_]+", entry.value):
        yield from _named(entry, file)
    elif entry.path and entry.path[-1] != "[]" and re.fullmatch(r"[A-Z][A-Z0-9_]+", entry.key):
        name_at = file.within((entry.key_start, entry.key_end), entry.key)
        yield from _pair(entry, file, entry.key, entry.value, name_at)


def _pair(
    entry: ConfigEntry, file: TextFile, name: str, value: str, name_at: tuple[int, int] | None
) -> Iterator[Finding]:
    found = verdict(name, value, entry.kind is not Kind.OPEN and not _DYNAMIC.search(value))
    if found is None:
        return
    at = (min(entry.key_start, entry.start), max(entry.end, entry.key_end))
    if found.npu is None or name_at is None or not entry.is_exact:
        yield file.report(RULE, at, found.state, found.message, subject=name)
        return
    edits = [file.replace(name_at, found.npu)]
    if found.value is not None:
        edits.append(Edit(entry.end - len(value.encode()), entry.end, found.value.encode()))
    yield file.rewrite(RULE, at, found.message, *edits, subject=name, styles=ONLY_NPU)


def _named(entry: ConfigEntry, file: TextFile) -> Iterator[Finding]:
    """`- name: NCCL_DEBUG` with its `value:` on another line."""
    found = verdict(entry.value)
    if found is None:
        return
    at = (entry.start, entry.end)
    if found.npu is None:
        yield file.report(RULE, at, found.state, found.message, subject=entry.value)
    else:
        fix = f"write `{found.npu}`, and check its value"
        yield file.report(RULE, at, State.HAND, found.message, fix, subject=entry.value)
