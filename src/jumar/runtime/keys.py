"""Keys of `jumar.toml`: what each may hold, what it means, and who may set it.

A feature declares its keys once, as `Key` rows in a `Schema`; reading a table without one is not possible. A project's
file is data: what could run code, send keys or data elsewhere, or reach outside the project needs the user's trust.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jumar.core.compat import StrEnum

_NAMED = re.compile(r"[A-Za-z_]\w*=(?=.)", re.S)
_STEERING = re.compile(
    r"(?:LD_|DYLD_|PYTHON|JUMAR_|PIP_|GIT_|SSL_|AWS_|HUAWEICLOUD_|OBS_|HW_|OS_).*|.*_PROXY"
    r"|PATH|HOME|SHELL|ENV|BASH_ENV|IFS|TMPDIR|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE"
)
"""Variables that choose what code runs, or where requests go and who vouches for the other side."""


class Access(StrEnum):
    """Who may set a key."""

    PROJECT = "project"
    """A project may: the value is data."""
    TRUSTED = "trusted"
    """Counts in a project that the user trusts, and on the command line."""


Test = Callable[[Any, Path], bool]
"""Asked of a value and the folder of the file."""


class Key(NamedTuple):
    kinds: tuple[type, ...]
    text: str
    access: Access
    except_if: Test | None = None
    """Values that need trust although the key does not."""
    never_if: Test | None = None
    """Values that count from the user's own file only, trusted or not."""
    is_code: bool = False
    """Does it name files that Jumar runs? Trust covers their content too."""
    below: Mapping[str, Key] | None = None
    """Keys of the tables in this one, which are of the user's naming."""
    unless: str = ""
    """What `except_if` and `never_if` say, in words for the reference page."""


class Schema(NamedTuple):
    """A table of the file."""

    name: str
    keys: Mapping[str, Key]
    has_own_file: bool = False
    """Is it also read from the user's own file, below the project's?"""


class Split(NamedTuple):
    """A table by what may count."""

    plain: dict[str, Any]
    trusted: dict[str, Any]
    """What needs trust, by key; with those of `below` as `targets.NAME.key`."""
    never: dict[str, Any]


def split(schema: Schema, values: Mapping[str, Any], folder: Path) -> Split:
    """Take a project's table apart; unknown keys stay, for the feature to complain about."""
    found = Split({}, {}, {})
    for name, value in values.items():
        key = schema.keys.get(name)
        if key is not None and key.below is not None and isinstance(value, dict):
            found.plain[name] = {
                one: _below(found, key.below, f"{name}.{one}", rows, folder) for one, rows in value.items()
            }
        else:
            _sort(found, found.plain, key, name, name, value, folder)
    return found


def _below(found: Split, keys: Mapping[str, Key], start: str, rows: Any, folder: Path) -> Any:
    if not isinstance(rows, dict):
        return rows
    plain: dict[str, Any] = {}
    for name, value in rows.items():
        _sort(found, plain, keys.get(name), name, f"{start}.{name}", value, folder)
    return plain


def _sort(
    found: Split, plain: dict[str, Any], key: Key | None, name: str, whole: str, value: Any, folder: Path
) -> None:
    if key is not None and key.never_if is not None and key.never_if(value, folder):
        found.never[whole] = value
    elif key is not None and needs_trust(key, value, folder):
        found.trusted[whole] = value
    else:
        plain[name] = value


def needs_trust(key: Key, value: Any, folder: Path) -> bool:
    """May this value count only in a project that the user trusts? An empty one asks for nothing."""
    if value in ("", [], {}, None):
        return False
    return key.access is Access.TRUSTED or (key.except_if is not None and key.except_if(value, folder))


def joined(values: Split) -> dict[str, Any]:
    """The table of a project that is trusted."""
    whole = {name: dict(value) if isinstance(value, dict) else value for name, value in values.plain.items()}
    for dotted, value in values.trusted.items():
        name, _, rest = dotted.partition(".")
        if not rest:
            whole[name] = value
            continue
        one, _, last = rest.rpartition(".")
        whole[name][one] = {**whole[name][one], last: value}
    return whole


def leads_outside(value: Any, folder: Path) -> bool:
    """Is one of these paths absolute, or does it lead out of the folder, also through a link?"""
    return any(_is_outside(text, folder) for text in _texts(value))


def input_leads_outside(value: Any, folder: Path) -> bool:
    """The same of `[NAME=]PLACE`; what lies in a bucket is outside."""
    places = [_NAMED.sub("", text, count=1) if _NAMED.match(text) else text for text in _texts(value)]
    return any("://" in place or _is_outside(place, folder) for place in places)


def steers(value: Any, folder: Path) -> bool:
    """Is one of these `NAME=VALUE` a variable that chooses code, or where requests go?"""
    return any(_STEERING.fullmatch(text.partition("=")[0].strip().upper()) for text in _texts(value))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (item for item in value if isinstance(item, str))


def _is_outside(text: str, folder: Path) -> bool:
    if text.startswith("~") or os.path.isabs(text) or "\0" in text:
        return True
    top = os.path.realpath(folder)
    found = os.path.realpath(os.path.join(top, text))
    return found != top and not found.startswith(top.rstrip(os.sep) + os.sep)
