"""Requirement files, and requirements inside other files: `pip install`, project files, conda environments."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.core.finding import Finding
from jumar.core.source import Source
from jumar.migrate.engine import Outcome
from jumar.migrate.pins import How, Pin, pin
from jumar.migrate.rule import Unit
from jumar.migrate.settings import Settings
from jumar.migrate.syntax import requirements
from jumar.migrate.syntax.shell import Command
from jumar.migrate.textfile import TextFile, migrate_text, visit

NAMES = r"(?:.*[._-])?(?:requirements?|constraints?)(?:[._-].*)?\.(?:txt|in)|reqs?\.txt"
FOLDERS = {"requirements": (".txt", ".in"), "reqs": (".txt", ".in")}
_INDEX = re.compile(r"(?:--(?:extra-)?index-url|-i|--find-links|-f|--default-index|--index)(?:\s+|=)(\S+)")
_WITH_VALUE = re.compile(
    r"-[rcefidtUpb]|--(?:requirement|constraint|(?:extra-)?index-url|find-links|target|prefix|python|editable|root"
    r"|cache-dir|trusted-host|timeout|default-index|index|index-strategy|torch-backend|name|file|channel|config-settings?)"
)


def migrate(source: Source, settings: Settings) -> Outcome:
    return migrate_text(source, settings, ("requirements",), _read)


def _read(file: TextFile, active: list[Unit]) -> Iterator[Finding]:
    found: list[Pin] = []
    replaced = False
    for line in requirements.lines(file.source.data):
        file.requirement_spans.append((line.start, line.end))
        option = _INDEX.match(line.text) if line.is_option else None
        if option:
            replaced |= line.text.startswith(("-i", "--index-url"))
            at = line.start + len(line.text[: option.start(1)].encode())
            yield from visit(active, "visit_index", (at, at + len(option.group(1).encode())), file)
        elif not line.is_option:
            found.append(pin(line.text, line.start, How.LINE))
    yield from visit(active, "visit_pins", [entry._replace(is_from_index=replaced) for entry in found], file)


def installed(command: Command, file: TextFile, active: list[Unit]) -> Iterator[Finding]:
    """The requirements of a `pip install` or `conda install` line."""
    texts = [word.text for word in command.words]
    if "install" not in texts and "add" not in texts and "create" not in texts:
        return
    position = next(at for at, text in enumerate(texts) if text in ("install", "add", "create"))
    tools = {text.rpartition("/")[2].removeprefix("%") for text in texts[:position]}
    is_conda = bool(tools & {"conda", "mamba", "micromamba"})
    if not is_conda and not tools & {"pip", "pip3", "uv", "poetry", "pipenv", "python", "python3", "$PIP", "${PIP}"}:
        return
    if not is_conda and not any(re.match(r"pip|uv|poetry|\$", tool, re.I) for tool in tools):
        return
    found: list[Pin] = []
    replaced = any(re.match(r"(?:--index-url|-i|--default-index)(?:=|$)", text) for text in texts)
    at = position + 1
    while at < len(command.words):
        word = command.words[at]
        key, equals, _ = word.text.partition("=")
        if word.text.startswith("-"):
            takes_next = not equals and _WITH_VALUE.fullmatch(key) is not None and at + 1 < len(command.words)
            value = command.words[at + 1] if takes_next else word
            if re.fullmatch(r"--(?:extra-)?index-url|-i|--find-links|-f|--default-index|--index", key):
                file.requirement_spans.append((value.start, value.end))
                yield from visit(active, "visit_index", (value.start, value.end), file)
            elif key in ("-c", "--channel") and is_conda:
                yield from visit(active, "visit_channel", value.text, (value.start, value.end), file)
            at += 1 + takes_next
            continue
        at += 1
        inside = file.within((word.start, word.end), word.text)
        if inside is not None:
            how = How.CONDA if is_conda else How.ARGUMENT
            entry = pin(word.text, inside[0], how, outer=(word.start, word.end))
            found.append(entry._replace(is_from_index=replaced))
    yield from visit(active, "visit_pins", found, file)
