"""Settings of well-known programs that mean something else on an NPU, or nothing."""

from __future__ import annotations

from functools import cache

from jumar.core.compat import dataclass
from jumar.core.finding import State
from jumar.tables.load import table


@dataclass(frozen=True, slots=True)
class Setting:
    key: str
    state: State
    note: str
    value: str | None = None
    new: str | None = None


@cache
def settings() -> dict[str, list[Setting]]:
    """Rows by the last word of their key."""
    found: dict[str, list[Setting]] = {}
    for row in table("settings.toml")["settings"]:
        setting = Setting(row["key"], State[row["state"].upper()], row["note"], row.get("value"), row.get("new"))
        found.setdefault(row["key"].rpartition(".")[2], []).append(setting)
    return found


def setting(path: tuple[str, ...], value: str) -> Setting | None:
    """The row for a key path and its value."""
    words = [part.lower() for part in path if part != "[]"]
    for row in settings().get(words[-1] if words else "", ()):
        key = row.key.split(".")
        if words[-len(key) :] == key and (row.value is None or row.value.lower() == value.lower()):
            return row
    return None
