"""YAML, JSON, TOML and INI files: one kind of entry for all of them, requirements and shell text in them included."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import PurePath

from jumar.core.finding import Finding
from jumar.core.source import Source
from jumar.migrate import engine
from jumar.migrate.engine import Outcome
from jumar.migrate.languages import shell
from jumar.migrate.pins import How, Pin, pin
from jumar.migrate.rule import Unit
from jumar.migrate.settings import Settings
from jumar.migrate.syntax import ini, json, toml, yaml
from jumar.migrate.syntax.entry import ConfigEntry, Kind
from jumar.migrate.textfile import TextFile, migrate_text, visit

READERS: dict[str, Callable[[bytes], Iterator[ConfigEntry]]] = {
    ".yaml": yaml.entries,
    ".yml": yaml.entries,
    ".json": json.entries,
    ".jsonc": json.entries,
    ".toml": toml.entries,
    ".cfg": ini.entries,
    ".ini": ini.entries,
    "Pipfile": toml.entries,
}
SUFFIXES = tuple(name for name in READERS if name.startswith("."))
NAMES = r"(?:poetry|uv|pdm|pixi)\.lock|Pipfile"
RULES = ("config", "requirements", "shell")
_SCRIPT = re.compile(
    r"(?:.*[_-])?(?:run|script|scripts|commands?|cmd|entrypoint|entry_point|setup|install|launch\w*|args|arguments|flags|options)",
    re.I,
)
_INDEXED = frozenset({"pyproject.toml", "Pipfile", "uv.toml", "pip.conf"})
_PROJECTS = frozenset({"pyproject.toml", "Pipfile", "setup.cfg"})
_INDEX_KEYS = frozenset({"url", "index-url", "extra-index-url", "find-links"})
_LOCK = re.compile(r".*\.lock|conda-lock\.ya?ml")
_ENVIRONMENT = re.compile(r".*(?:environment|env|conda)[\w.-]*\.ya?ml", re.I)


def migrate(source: Source, settings: Settings) -> Outcome:
    return migrate_text(source, settings, RULES, _read)


def _read(file: TextFile, active: list[Unit]) -> Iterator[Finding]:
    if _LOCK.fullmatch(file.name):
        yield from visit(active, "visit_lock", file)
        return
    reader = READERS.get(file.name) or READERS[PurePath(file.name).suffix.lower()]
    file.entries = list(reader(file.source.data))
    file.telling_entries = _telling(file.entries, file.source.data, active)
    told = set(map(id, file.telling_entries))
    has_requirements = file.name in _PROJECTS or bool(_ENVIRONMENT.fullmatch(file.name))
    found: list[Pin] = []
    for entry in file.entries:
        required = _requirement(file, entry) if has_requirements else None
        if required is not None:
            found.append(required)
            file.requirement_spans.append((required.start, required.end))
            file.script_spans.append((entry.start, entry.end))
        elif file.name in _INDEXED and entry.key in _INDEX_KEYS:
            yield from visit(active, "visit_index", (entry.start, entry.end), file)
        elif entry.path == ("channels", "[]") and _ENVIRONMENT.fullmatch(file.name):
            yield from visit(active, "visit_channel", entry.value, (entry.start, entry.end), file)
        elif id(entry) not in told:
            pass
        elif _is_script(file, entry):
            yield from shell.read(file, active, entry.start, entry.end)
        else:
            yield from visit(active, "visit_entry", entry, file)
        file.previous = entry
    yield from visit(active, "visit_pins", found, file)


def _telling(entries: list[ConfigEntry], data: bytes, active: list[Unit]) -> list[ConfigEntry]:
    """The entries that hold a word of some rule, in a key on their path or in their value.

    A vocabulary or a list of data files has hundreds of thousands of the others, and no rule has a word on them.
    """
    lowered = data.lower()
    words = engine.held(active, data)
    places = sorted(match.start() for word in words for match in re.finditer(re.escape(word), lowered))
    names = [word.decode() for word in words]
    known: dict[tuple[str, ...], bool] = {}
    found = []
    for entry in entries:
        above = entry.path[:-1]
        if above not in known:
            path = " ".join(above).lower()
            known[above] = any(name in path for name in names)
        first = min(entry.start, entry.key_start)
        at = bisect_left(places, first)
        if known[above] or (at < len(places) and places[at] < max(entry.end, entry.key_end)):
            found.append(entry)
    return found


def _is_script(file: TextFile, entry: ConfigEntry) -> bool:
    if entry.kind is Kind.OPEN or not entry.is_exact or not _SCRIPT.fullmatch(entry.key):
        return False
    return (entry.kind is Kind.BLOCK or " " in entry.value) and file.telling(entry.value) is not None


def _requirement(file: TextFile, entry: ConfigEntry) -> Pin | None:
    """The requirement that an entry is, by the rules of the file it stands in."""
    path, group = entry.path, tuple(part for part in entry.path if part != "[]")
    if entry.kind in (Kind.OPEN, Kind.BLOCK) or not path:
        return None
    is_item = path[-1] == "[]"
    outer = (entry.start - 1, entry.end + 1) if entry.kind is Kind.QUOTED else (entry.start, entry.end)
    if (
        file.name == "pyproject.toml"
        and is_item
        and (
            path[:2] in (("project", "dependencies"), ("project", "optional-dependencies"))
            or path[0] == "dependency-groups"
            or path[-2] in ("dev-dependencies", "override-dependencies", "constraint-dependencies")
        )
    ):
        return pin(entry.value, entry.start, How.ARRAY, group, outer) if entry.kind is Kind.QUOTED else None
    if _is_table(file.name, path):
        found = pin(entry.value, entry.start, How.TABLE, path[:-1], outer)
        name = path[-2] if path[-1] == "version" else path[-1]
        return found._replace(name=re.sub(r"[-_.]+", "-", name).lower())
    if file.name == "setup.cfg" and is_item and path[1:2] in (("install_requires",),):
        return pin(entry.value, entry.start, How.LINE, group)
    if file.name == "setup.cfg" and is_item and path[0] == "options.extras_require":
        return pin(entry.value, entry.start, How.LINE, group)
    if _ENVIRONMENT.fullmatch(file.name) and path[0] == "dependencies" and is_item:
        how = How.ITEM if "pip" in path else How.CONDA
        return pin(entry.value, entry.start, how, (how.value,), outer)
    return None


def _is_table(name: str, path: tuple[str, ...]) -> bool:
    """`torch = "^2.1"` of poetry and pipenv, also `torch = { version = "…" }`."""
    if path[-1] == "version":
        path = path[:-1]
    if name == "Pipfile":
        return len(path) == 2 and path[0] in ("packages", "dev-packages")
    return name == "pyproject.toml" and path[:2] == ("tool", "poetry") and path[-2].endswith("dependencies")
