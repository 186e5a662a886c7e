"""`jumar.toml`: where it is, what its tables say, and which of it may count; the features check their own keys.

A project's file is data (`keys.py`): without the user's trust (`trust.py`), keys that need it are left out with a note.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jumar.core import notes
from jumar.core.compat import tomllib
from jumar.core.errors import UserError
from jumar.runtime import home, keys, owned, trust
from jumar.runtime.keys import Schema

FILE = "jumar.toml"
LONGEST = 2000
"""Bytes of a line: the parser's memory grows with the square of a dotted key's parts, to gigabytes in one long line."""


class Table(NamedTuple):
    """One table of the file; empty without a path where there is no file."""

    path: Path | None
    values: Mapping[str, Any]
    text: str = ""
    """The whole file, for the lines of keys."""
    files: Mapping[str, str] = {}
    """Hashes of the files of code that it names, by absolute path."""
    own: Mapping[str, Any] = {}
    """What the user's own file says beside it."""
    ignored: tuple[str, ...] = ()
    """Keys that need the user's trust and have it not."""

    def origin(self, key: str) -> str:
        """`path:line: ` of a key, the beginning of a message about it."""
        if key in self.own and key not in self.values:
            return f"{own_file()}: "
        return f"{self.path}:{_line_of(self.text, key)}: " if self.path else ""

    @property
    def merged(self) -> dict[str, Any]:
        """The user's own values below those of the project; tables of one name, such as targets, are the user's."""
        whole = {**self.own, **self.values}
        for name, value in self.own.items():
            if isinstance(value, dict) and isinstance(self.values.get(name), dict):
                whole[name] = {**self.values[name], **value}
        return whole


def own_file() -> Path:
    """The user's own settings."""
    return home.config() / FILE


def find(start: Path) -> Path | None:
    """The nearest `jumar.toml` at or above a path, if it belongs to the user; folders of others end the search."""
    folder = start.absolute() if start.is_dir() else start.absolute().parent
    mine = owned.users()
    crossed = False
    for up in (folder, *folder.parents):
        crossed = crossed or _owner(up, follow=True) not in mine
        path = up / FILE
        if os.path.lexists(path):
            if not crossed and _owner(path, follow=False) in mine:
                return path
            notes.add(
                f"`{path}` is not read: a folder on the way to it belongs to another user"
                if _owner(path, follow=False) in mine
                else f"`{path}` is not read: it belongs to another user"
            )
            return None
    return None


def _owner(path: Path, *, follow: bool) -> int:
    try:
        return os.stat(path, follow_symlinks=follow).st_uid
    except OSError:
        return -1


def read(path: Path | None, schema: Schema) -> Table:
    """A table of the file, without what the user would have to trust and does not; None is an empty file."""
    own = _own(schema) if schema.has_own_file else {}
    if path is None:
        return Table(None, {}, own=own)
    raw, text, values = _table(path, schema.name)
    found = keys.split(schema, values, path.parent)
    if found.never:
        notes.add(_never(path, schema, found.never))
    if not found.trusted:
        return Table(path, found.plain, text, own=own)
    known = trust.entry(path.parent)
    code = code_files(schema, values, path.parent)
    if known is not None and known.settings == trust.digest(raw) and _same(code, known.files):
        return Table(path, keys.joined(found), text, {name: known.files[name] for name in code}, own)
    notes.add(_ignored(path, schema, found.trusted, is_changed=known is not None))
    return Table(path, found.plain, text, own=own, ignored=tuple(found.trusted))


def code_files(schema: Schema, values: Mapping[str, Any], folder: Path) -> list[str]:
    """Absolute paths of the files of code that a table names."""
    names: list[str] = []
    for name, key in schema.keys.items():
        value = values.get(name)
        if key.is_code and isinstance(value, list):
            names += [os.path.abspath(folder / one) for one in value if isinstance(one, str) and "\0" not in one]
    return names


def document(raw: bytes, path: Path) -> dict[str, Any]:
    """The content of a settings file; what no such file holds is refused."""
    if max(map(len, raw.split(b"\n"))) > LONGEST:
        raise UserError(f"`{path}` has a line of more than {LONGEST} bytes", "write long lists on several lines")
    try:
        found = tomllib.loads(raw.decode("utf-8"))
    except RecursionError:
        raise UserError(f"`{path}` is not valid TOML: nested too deeply", "correct the file and try again") from None
    except ValueError as error:  # of the parser, of the decoder, of a number with too many digits
        raise UserError(f"`{path}` is not valid TOML: {error}", "correct the file and try again") from error
    return found


def _table(path: Path, name: str) -> tuple[bytes, str, dict[str, Any]]:
    raw = owned.read(path)
    return raw, raw.decode("utf-8", "replace"), table(document(raw, path), raw, path, name)


def table(whole: Mapping[str, Any], raw: bytes, path: Path, name: str) -> dict[str, Any]:
    """One table of a document; names and values that would do something to a terminal are refused."""
    values = whole.get(name, {})
    if not isinstance(values, dict):
        origin = Table(path, {}, raw.decode("utf-8")).origin(name)
        raise UserError(f"{origin}`{name}` must be a table", f"write `[{name}]` on a line of its own")
    if any(_is_odd(letter) for one in _strings(values) for letter in one):
        raise UserError(
            f"`{path}`: a name or value of `[{name}]` holds a control character", "correct the file and try again"
        )
    return values


def _own(schema: Schema) -> dict[str, Any]:
    """The same table of the user's own file; nothing there needs trust."""
    path = own_file()
    return _table(path, schema.name)[2] if os.path.lexists(path) else {}


def _same(files: list[str], known: Mapping[str, str]) -> bool:
    """Have the files of code still the content that was trusted?"""
    try:
        return all(name in known and trust.digest(owned.content(Path(name))) == known[name] for name in files)
    except UserError:
        return False


def _ignored(path: Path, schema: Schema, values: Mapping[str, Any], *, is_changed: bool) -> str:
    shown, command = ", ".join(f"`{name}`" for name in values), trust.command(path.parent)
    if is_changed:
        return (
            f"`{path}`: ignored in `[{schema.name}]`: {shown}: the files have changed since you trusted them:"
            f" `{command}`"
        )
    return f"`{path}`: ignored in `[{schema.name}]`: {shown}: that needs your trust: `{command}`"


def _never(path: Path, schema: Schema, values: Mapping[str, Any]) -> str:
    shown = ", ".join(f"`{name}`" for name in values)
    return (
        f"`{path}`: ignored in `[{schema.name}]`: {shown}: endpoints outside Huawei Cloud count only in `{own_file()}`"
    )


def _strings(value: Any) -> Iterator[str]:
    """All names and values, however deep."""
    rest = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            rest += [*one, *one.values()]
        elif isinstance(one, list):
            rest += one


def _is_odd(letter: str) -> bool:
    """Does it move the cursor, or change the direction of writing?"""
    return unicodedata.category(letter) == "Cc" or unicodedata.bidirectional(letter) in _DIRECTIONS


_DIRECTIONS = frozenset(("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"))


def _line_of(text: str, key: str) -> int:
    pattern = re.compile(rf"""^[ \t]*(?:\[.*\b{re.escape(key)}\b.*\]|["']?{re.escape(key)}["']?\s*=)""", re.M)
    match = pattern.search(text)
    return text.count("\n", 0, match.end() - len(match[0].lstrip())) + 1 if match else 1
