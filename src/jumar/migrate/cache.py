"""Results of files that have not changed, and what looks at them told, by content, in one small database per user.

The cache may be deleted at any time. Whatever goes wrong with it (a full disk, a locked or broken file) makes a run
slower, never wrong.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from jumar.core.edit import Edit
from jumar.core.errors import UserError
from jumar.core.finding import Finding, Level, Safety, State, Where
from jumar.migrate.look import Text
from jumar.migrate.result import FileResult
from jumar.migrate.settings import Settings
from jumar.runtime import home

MAX_ROWS = 50_000
BATCH = 500
"""So many rows are asked for at once."""
# A look-up in a dictionary: a large project has tens of thousands of findings, and calling an enumeration is slow.
_LEVELS = {one.value: one for one in Level}
_SAFETIES = {one.value: one for one in Safety}
_STATES = {one.value: one for one in State}


def folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(home.path(), ".cache")
    return Path(base, "jumar")


class Cache:
    """Looks up what is known and keeps what is new; `close` writes it.

    What looks told depends on a text alone. A result depends on the settings too, and those on what all looks told.
    """

    def __init__(self) -> None:
        self._code = _code()
        self._salt = b""
        self._content: dict[str, bytes] = {}
        self._told: list[tuple[bytes, str]] = []
        self._new: list[tuple[bytes, str, bytes | None]] = []
        self._db: sqlite3.Connection | None = None
        with contextlib.suppress(sqlite3.Error, OSError, UserError):
            folder().mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(folder() / "migrate.sqlite", timeout=1.0, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=OFF")
            self._db.execute("CREATE TABLE IF NOT EXISTS result (key BLOB PRIMARY KEY, said TEXT, after BLOB)")
            self._db.execute("CREATE TABLE IF NOT EXISTS look (key BLOB PRIMARY KEY, told TEXT)")

    def recall(self, texts: Sequence[Text]) -> None:
        """Tell the texts what earlier looks at them told."""
        for text in texts:
            digest = hashlib.blake2b(text.raw, digest_size=16, key=self._code)
            digest.update(os.path.splitext(text.path)[1].encode("utf-8", "surrogateescape"))
            self._content[text.path] = digest.digest()
        known = dict(self._rows("SELECT key, told FROM look WHERE key IN", [*self._content.values()]))
        for text in texts:
            with contextlib.suppress(ValueError, TypeError, KeyError):
                text.told = dict(json.loads(known[self._content[text.path]]))

    def use(self, settings: Settings, texts: Sequence[Text]) -> None:
        """Results from here on are those for these settings; what the texts have told by now is kept."""
        self._salt = _salt(settings, self._code)
        self._told = [(self._content[text.path], json.dumps(text.told)) for text in texts if text.is_new]

    def results(self, texts: Sequence[Text]) -> dict[str, FileResult]:
        """The known results by path."""
        keys = {self._key(text): text for text in texts}
        found: dict[str, FileResult] = {}
        for key, said, after in self._rows("SELECT key, said, after FROM result WHERE key IN", list(keys)):
            text = keys[key]
            with contextlib.suppress(ValueError, TypeError, KeyError):
                found[text.path] = _decode(text.path, text.raw, said, after)
        return found

    def put(self, text: Text, result: FileResult) -> None:
        self._new.append((self._key(text), _encode(result), result.after if result.changed else None))

    def _key(self, text: Text) -> bytes:
        digest = hashlib.blake2b(self._content[text.path], digest_size=16, key=self._salt)
        digest.update(text.path.encode("utf-8", "surrogateescape"))
        return digest.digest()

    def _rows(self, select: str, keys: Sequence[bytes]) -> Iterator[Any]:
        with contextlib.suppress(sqlite3.Error):
            for start in range(0, len(keys), BATCH) if self._db is not None else ():
                some = keys[start : start + BATCH]
                assert self._db is not None
                yield from self._db.execute(f"{select} ({','.join('?' * len(some))})", some)

    def close(self) -> None:
        if self._db is None:
            return
        with contextlib.suppress(sqlite3.Error):
            if self._new or self._told:
                self._db.execute("BEGIN")
                self._db.executemany("INSERT OR REPLACE INTO result VALUES (?, ?, ?)", self._new)
                self._db.executemany("INSERT OR REPLACE INTO look VALUES (?, ?)", self._told)
                for table in ("result", "look"):
                    self._db.execute(
                        f"DELETE FROM {table} WHERE rowid <= (SELECT max(rowid) - ? FROM {table})", (MAX_ROWS,)
                    )
                self._db.execute("COMMIT")
            self._db.close()


def _encode(result: FileResult) -> str:
    findings = [
        [
            finding.id,
            finding.level,
            finding.message,
            [finding.where.line, finding.where.col, finding.where.end_line, finding.where.end_col]
            if finding.where
            else None,
            finding.fix,
            finding.safety,
            finding.state,
            finding.doc,
            [[edit.start, edit.end, edit.new.decode()] for edit in finding.edits],
            finding.subject,
        ]
        for finding in result.findings
    ]
    return json.dumps([findings, [[name, data.decode("latin-1")] for name, data in result.extra]])


def _decode(path: str, raw: bytes, said: str, after: bytes | None) -> FileResult:
    findings, extra = json.loads(said)
    return FileResult(
        path,
        raw,
        raw if after is None else after,
        tuple(_finding(path, *fields) for fields in findings),
        tuple((name, data.encode("latin-1")) for name, data in extra),
    )


def _finding(
    path: str,
    id: str,
    level: str,
    message: str,
    where: list[int] | None,
    fix: str | None,
    safety: str,
    state: str | None,
    doc: str | None,
    edits: list[tuple[int, int, str]],
    subject: str,
) -> Finding:
    return Finding(
        id,
        _LEVELS[level],
        message,
        Where(path, *where) if where else None,
        fix,
        _SAFETIES[safety],
        _STATES[state] if state else None,
        doc,
        tuple(Edit(start, end, new.encode()) for start, end, new in edits),
        subject,
    )


def _salt(settings: Settings, code: bytes) -> bytes:
    """Changes with the settings and whatever the code's own hash changes with."""
    digest = hashlib.blake2b(code, digest_size=32)
    # Sets come in another order in every process, so the text of the settings itself would never be the same.
    digest.update(json.dumps(dataclasses.asdict(settings), default=sorted, sort_keys=True).encode())
    return digest.digest()


def _code() -> bytes:
    """Changes with the Python version and every change to Jumar itself."""
    top = Path(__file__).parents[1]
    digest = hashlib.blake2b(str(sys.version_info[:3]).encode(), digest_size=32)
    for part in ("core", "data", "tables", "migrate"):
        for place, folders, names in os.walk(top / part):
            folders.sort()
            for name in sorted(names):
                if not name.endswith(".pyc"):
                    info = os.stat(os.path.join(place, name))
                    digest.update(f"{name} {info.st_size} {info.st_mtime_ns}\n".encode())
    return digest.digest()
