"""What a project asks to be trusted for, and what is trusted, in lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Protocol


class _Asked(Protocol):
    @property
    def table(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def value(self) -> Any: ...


class _Code(Protocol):
    @property
    def path(self) -> str: ...
    @property
    def sha256(self) -> str: ...


class _Row(Protocol):
    @property
    def what(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def date(self) -> str: ...
    @property
    def state(self) -> str: ...


def asked(file: object, rows: Iterable[_Asked], never: Iterable[_Asked], code: Iterable[_Code]) -> Iterator[str]:
    """The keys with their values, and the files whose code would run."""
    yield f"`{file}` asks for:"
    for row in rows:
        yield f"  [{row.table}] {row.key} = {json.dumps(row.value)}"
    for one in code:
        yield f"  code that runs inside Jumar: {shown(one.path)} (sha256 {one.sha256[:16]}…)"
    for row in never:
        yield f"  never from a project: [{row.table}] {row.key} = {json.dumps(row.value)}"


def listed(rows: Iterable[_Row]) -> Iterator[str]:
    for row in rows:
        yield f"{row.what:<6}  {row.state:<7}  {row.date}  {shown(row.name)}"


def shown(text: str) -> str:
    """As it is, or with escapes where it would move the cursor."""
    return text if text.isprintable() else json.dumps(text)
