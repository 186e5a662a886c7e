"""Results of files that have not changed, by content hash, in one small database per user.

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
from collections.abc import Iterator
from pathlib import Path

from jumar.core.edit import Edit
from jumar.core.errors import UserError
from jumar.core.finding import Finding, Level, Safety, State, Where
from jumar.migrate.result import FileResult
from jumar.migrate.settings import Settings
from jumar.runtime import home

MAX_ROWS = 50_000


def folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(home.path(), ".cache")
    return Path(base, "jumar")


class Cache:
    """Looks results up and keeps new ones; `close` writes them."""

    def __init__(self, settings: Settings) -> None:
        self._salt = _salt(settings)
        self._new: list[tuple[bytes, str, bytes | None]] = []
        self._db: sqlite3.Connection | None = None
        with contextlib.suppress(sqlite3.Error, OSError, UserError):
            folder().mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(folder() / "migrate.sqlite", timeout=1.0, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=OFF")
            self._db.execute("CREATE TABLE IF NOT EXISTS result (key BLOB PRIMARY KEY, said TEXT, after BLOB)")

    def key(self, path: str, raw: bytes) -> bytes:
        digest = hashlib.blake2b(raw, digest_size=16, key=self._salt)
        digest.update(b"\0" + path.encode("utf-8", "surrogateescape"))
        return digest.digest()

    def get(self, key: bytes, path: str, raw: bytes) -> FileResult | None:
        if self._db is None:
            return None
        try:
            row = self._db.execute("SELECT said, after FROM result WHERE key = ?", (key,)).fetchone()
            return _decode(path, raw, *row) if row else None
        except (sqlite3.Error, ValueError, TypeError, KeyError):
            return None

    def put(self, key: bytes, result: FileResult) -> None:
        self._new.append((key, _encode(result), result.after if result.changed else None))

    def close(self) -> None:
        if self._db is None:
            return
        with contextlib.suppress(sqlite3.Error):
            if self._new:
                self._db.execute("BEGIN")
                self._db.executemany("INSERT OR REPLACE INTO result VALUES (?, ?, ?)", self._new)
                self._db.execute(
                    "DELETE FROM result WHERE rowid <= (SELECT max(rowid) - ? FROM result)",
                    (MAX_ROWS,),
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
        Level(level),
        message,
        Where(path, *where) if where else None,
        fix,
        Safety(safety),
        State(state) if state else None,
        doc,
        tuple(Edit(start, end, new.encode()) for start, end, new in edits),
        subject,
    )


def _salt(settings: Settings) -> bytes:
    """Changes with the settings, the Python version and every change to Jumar itself."""
    digest = hashlib.blake2b(digest_size=32)
    # Sets come in another order in every process, so the text of the settings itself would never be the same.
    wishes = json.dumps(dataclasses.asdict(settings), default=sorted, sort_keys=True)
    digest.update(f"{sys.version_info[:3]} {wishes}".encode())
    for part in _code():
        digest.update(part.encode())
    for path in settings.rule_paths:
        with contextlib.suppress(OSError):
            digest.update(Path(path).read_bytes())
    return digest.digest()


def _code() -> Iterator[str]:
    top = Path(__file__).parents[1]
    for part in ("core", "data", "tables", "migrate"):
        for place, folders, names in os.walk(top / part):
            folders.sort()
            for name in sorted(names):
                if not name.endswith(".pyc"):
                    info = os.stat(os.path.join(place, name))
                    yield f"{name} {info.st_size} {info.st_mtime_ns}\n"
