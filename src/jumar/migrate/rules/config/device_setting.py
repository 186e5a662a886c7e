"""A device, backend or number of GPUs in a configuration: `device: cuda`, `backend: nccl`, `gpus: 8`."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding
from jumar.migrate import values
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.entry import Entry, Kind
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="YM101",
    name="device-setting",
    summary="a device, backend or number of GPUs in a configuration",
    keywords=("cuda", "nccl", "gpu", "flash", "xformers"),
)


def visit_entry(entry: Entry, file: TextFile) -> Iterator[Finding]:
    if entry.kind in (Kind.OPEN, Kind.BLOCK):
        return
    key = "device_map" if "device_map" in entry.path else entry.key.lstrip("-").rpartition(".")[2]
    found = values.judge(key, entry.value)
    if found is None:
        return
    at = (min(entry.key_start, entry.start), entry.end)
    message = f"`{'.'.join(part for part in entry.path if part != '[]')}`: {found.message}"
    if found.new is None or not entry.is_exact:
        yield file.report(RULE, at, found.state, message, found.fix, subject=entry.key)
    else:
        edit = file.replace((entry.start, entry.end), found.new)
        yield file.change(RULE, at, message, edit, at_run_time=True, subject=entry.key)
