"""What is left of CUDA words in a configuration that no other rule has explained: each gets a finding."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.core.finding import Finding, Safety, State
from jumar.migrate.around import SENTENCE, Place, is_sentence
from jumar.migrate.passes.torch import markers
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.entry import ConfigEntry, Kind
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="YM900",
    name="left-over-setting",
    summary="a CUDA word in a configuration that no other rule covers",
    keywords=markers.WORDS,
    safety=Safety.SHOW,
)
_ABOUT = re.compile(
    r".*(?:name|title|description|summary|authors?|maintainers?|keywords|classifiers|url|urls|homepage|repository|email"
    r"|test_cases?|known_\w+|scopes?|comment|label|labels|tags?|readme|license|message|help|text|owner|runner|resources?|runs-on|note|notes|source)",
    re.I,
)
_ADDRESS = re.compile(r"(?:https?|git|ssh|s3)://\S+|git@\S+|\S+@\S+\.\w+")
_TOKEN = re.compile("[\u0120\u010a\u2581]|^##|</w>$")
"""Marks of word beginnings in the vocabularies of tokenizers."""
_VERSION = re.compile(r"\d+(?:\.\d+)+|cpu")
_FILE = re.compile(r"[\w./${}*~@:-]*[\w}*]\.[A-Za-z]\w{0,5}|[\w.@-]+(?:/[\w.@${}*-]+)+")
_DATA = (".json", ".jsonl")
"""Files that may hold texts for people."""
FLOOD = 30
"""From this many sentences on a file is data, and one finding speaks for all."""


def finish(file: TextFile) -> Iterator[Finding]:
    told = 0
    for entry in file.telling_entries:
        at = (min(entry.key_start, entry.start), max(entry.end, entry.key_end))
        if entry.kind is Kind.OPEN:
            at = (entry.key_start, entry.key_end)
        words = entry.value if entry.path[-1:] == ("[]",) else f"{entry.key} {entry.value}"
        marker = markers.found(words)
        if marker is None or file.is_covered(*at) or _is_script(file, entry):
            continue
        finding_state, message, fix = _judge(entry, marker, file)
        if finding_state is State.BENIGN:
            told += 1
            if told == FLOOD:
                message = "this file has many CUDA words in data or text; the rest is not listed"
            elif told > FLOOD:
                continue
        yield file.report(RULE, at, finding_state, message, fix, subject=marker)


def _is_script(file: TextFile, entry: ConfigEntry) -> bool:
    return any(start <= entry.start and entry.end <= end for start, end in file.script_spans)


def _judge(entry: ConfigEntry, marker: str, file: TextFile) -> tuple[State, str, str | None]:
    fix = "check what reads it, and whether it works with an NPU"
    if entry.kind is Kind.OPEN:
        return State.BENIGN, f"`{entry.key}` is the name of a group", None
    if entry.path[:1] == ("channels",) and any(one.path[:1] == ("dependencies",) for one in file.entries):
        return State.BENIGN, f"`{entry.value}` is a conda channel; what is installed from it is what counts", None
    if _TOKEN.search(entry.key) and entry.value.isdigit():
        return State.BENIGN, f"`{entry.key}` is an entry of a vocabulary", None
    if markers.found(entry.value) is None:
        if not markers.is_strong(entry.key) and entry.value.lower() not in ("true", "yes", "on"):
            return State.BENIGN, f"`{entry.key}` is the program's own name", None
        if _VERSION.fullmatch(entry.value):
            return State.BENIGN, f"`{entry.key}` names a version or the CPU", None
        if entry.value.lower() in ("false", "no", "off", "null", "none", "~", ""):
            return State.BENIGN, f"`{entry.key}` is switched off", None
        return State.HAND, f"`{entry.key}` is `{entry.value[:60]}`", fix
    if entry.key.replace("-", "_").lower() in file.settings.facts.own_words:
        return State.BENIGN, f"`{entry.value[:60]}` is the program's own word, not a device", None
    if _ABOUT.fullmatch(entry.key) or markers.is_prose(entry.value):
        return State.BENIGN, f"`{marker}` in text about the project", None
    if _ADDRESS.fullmatch(entry.value) or _FILE.fullmatch(entry.value):
        return State.BENIGN, f"`{entry.value[:60]}` is an address or a file name", None
    if markers.is_weak(entry.value):
        return State.BENIGN, f"`{entry.value[:60]}` means any card", None
    return State.HAND, f"`{entry.key}` is `{entry.value.strip()[:60]}`", fix


def noise(finding: Finding, place: Place) -> str:
    return SENTENCE if place.path.endswith(_DATA) and is_sentence(place.line) else ""
