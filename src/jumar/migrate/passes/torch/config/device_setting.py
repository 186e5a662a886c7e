"""A device, backend or number of GPUs in a configuration: `device: cuda`, `backend: nccl`, `gpus: 8`."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding
from jumar.migrate.document import ONLY_NPU
from jumar.migrate.passes.torch import values
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.entry import ConfigEntry, Kind
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="YM101",
    name="device-setting",
    summary="a device, backend or number of GPUs in a configuration",
    keywords=("cuda", "nccl", "gpu", "flash", "xformers"),
)


def visit_entry(entry: ConfigEntry, file: TextFile) -> Iterator[Finding]:
    if entry.kind in (Kind.OPEN, Kind.BLOCK):
        return
    key, value = _meaning(entry, file)
    found = values.judge(key, value, file.settings.facts.device_names)
    if found is None:
        return
    at = (min(entry.key_start, entry.start), entry.end)
    message = f"`{'.'.join(part for part in entry.path if part != '[]')}`: {found.message}"
    if found.new is None or not entry.is_exact:
        yield file.report(RULE, at, found.state, message, found.fix, subject=entry.key)
    else:
        edit = file.replace((entry.end - len(value.encode()), entry.end), found.new)
        yield file.rewrite(RULE, at, message, edit, at_run_time=True, subject=entry.key, styles=ONLY_NPU)


def _meaning(entry: ConfigEntry, file: TextFile) -> tuple[str, str]:
    """The key and value that count: `--device` and `cuda` also in a list of arguments."""
    if entry.path[-1:] == ("[]",):
        option, equals, value = entry.value.partition("=")
        if equals and option.startswith("--"):
            return option.lstrip("-"), value
        before = file.previous
        if before is not None and before.path == entry.path and before.value.startswith("--"):
            return before.value.lstrip("-"), entry.value
    if "device_map" in entry.path:
        return "device_map", entry.value
    return entry.key.lstrip("-").rpartition(".")[2], entry.value
