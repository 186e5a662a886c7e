"""`jumar trust`: what a project asks to be trusted for, and the user's record of what is trusted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from jumar.core.compat import dataclass
from jumar.core.errors import UserError
from jumar.runtime import keys, owned, settings, trust
from jumar.runtime.keys import Schema


@dataclass(frozen=True, slots=True)
class Asked:
    """A key of a project's file that needs trust, and its value."""

    table: str
    key: str
    value: Any


@dataclass(frozen=True, slots=True)
class Code:
    """A file of code that a project names, which runs inside Jumar."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class TrustResult:
    """What was trusted, or would be."""

    file: Path
    asked: tuple[Asked, ...]
    never: tuple[Asked, ...]
    """What a project cannot be trusted with."""
    code: tuple[Code, ...]
    recorded: bool
    was_trusted: bool
    """Was this content trusted before?"""

    def to_json(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        from jumar.report import json

        return json.document(
            {
                "kind": "trust",
                "file": str(self.file),
                "asked": [{"table": one.table, "key": one.key, "value": one.value} for one in self.asked],
                "never": [{"table": one.table, "key": one.key, "value": one.value} for one in self.never],
                "code": [{"path": one.path, "sha256": one.sha256} for one in self.code],
                "recorded": self.recorded,
            }
        )


@dataclass(frozen=True, slots=True)
class Row:
    """One entry of the record."""

    what: str
    """`folder` or `host`."""
    name: str
    date: str
    state: str
    """`trusted`, `changed` or `gone`."""


def schemas() -> tuple[Schema, ...]:
    """Every table of `jumar.toml`, with its keys."""
    from jumar.cloud import target
    from jumar.migrate import config

    return (config.SCHEMA, target.SCHEMA)


def look(folder: Path) -> TrustResult:
    """What the project of a folder asks for; nothing is recorded."""
    return _look(folder)[0]


def add(folder: Path) -> TrustResult:
    """Trust the project of a folder with the content that its files have now."""
    found, raw, code = _look(folder)
    if not found.asked:
        raise UserError(f"`{found.file}` asks for nothing that needs trust", "it is in force already")
    trust.add_folder(found.file.parent, raw, code)
    return TrustResult(found.file, found.asked, found.never, found.code, True, found.was_trusted)


def remove(folder: Path) -> str:
    """Forget a project; the folder that was forgotten."""
    for up in (folder.absolute(), *folder.absolute().parents):
        if trust.remove_folder(up):
            return trust.name_of(up)
    raise UserError(f"`{folder}` is not trusted", "`jumar trust --list` lists what is")


def add_host(text: str) -> str:
    """Let keys be sent to a host; the host as it is recorded."""
    from jumar.cloud import hosts

    host = str(hosts.named(text))
    trust.add_host(host)
    return host


def remove_host(text: str) -> str:
    from jumar.cloud import hosts

    host = str(hosts.named(text))
    if not trust.remove_host(host):
        raise UserError(f"`{host}` is not trusted", "`jumar trust --list` lists what is")
    return host


def rows() -> list[Row]:
    """Everything that is recorded."""
    known = trust.read()
    folders = [Row("folder", name, one.date, _state(Path(name), one)) for name, one in known.folders.items()]
    return [*folders, *(Row("host", name, date, "trusted") for name, date in known.hosts.items())]


def _look(folder: Path) -> tuple[TrustResult, bytes, dict[str, bytes]]:
    if not folder.is_dir():
        raise UserError(f"no such folder: `{folder}`", "name the folder of a project")
    path = settings.find(folder)
    if path is None:
        raise UserError(f"no `{settings.FILE}` of yours at or above `{folder}`", "there is nothing to trust")
    raw = owned.read(path)
    document = settings.document(raw, path)
    asked: list[Asked] = []
    never: list[Asked] = []
    code: dict[str, bytes] = {}
    for schema in schemas():
        values = settings.table(document, raw, path, schema.name)
        parts = keys.split(schema, values, path.parent)
        asked += [Asked(schema.name, key, value) for key, value in parts.trusted.items()]
        never += [Asked(schema.name, key, value) for key, value in parts.never.items()]
        for name in settings.code_files(schema, values, path.parent):
            code[name] = owned.content(Path(name))
    known = trust.entry(path.parent)
    shown = tuple(Code(name, trust.digest(data)) for name, data in code.items())
    was = (
        known is not None
        and known.settings == trust.digest(raw)
        and dict(known.files) == {one.path: one.sha256 for one in shown}
    )
    return TrustResult(path, tuple(asked), tuple(never), shown, False, was), raw, code


def _state(folder: Path, entry: trust.Entry) -> str:
    path = folder / settings.FILE
    if not os.path.lexists(path):
        return "gone"
    try:
        same = trust.digest(owned.read(path)) == entry.settings
        same = same and all(trust.digest(owned.content(Path(name))) == sha for name, sha in entry.files.items())
    except UserError:
        return "changed"
    return "trusted" if same else "changed"
