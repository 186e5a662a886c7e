"""CUDA and C++ sources: listed with their kernels, launches and bindings; never edited."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding
from jumar.core.source import Source
from jumar.migrate.engine import Outcome
from jumar.migrate.rule import Unit
from jumar.migrate.settings import Settings
from jumar.migrate.syntax import native
from jumar.migrate.textfile import TextFile, migrate_text, visit

SUFFIXES = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hh")


def migrate(source: Source, settings: Settings) -> Outcome:
    return migrate_text(source, settings, ("native",), _read)


def _read(file: TextFile, active: list[Unit]) -> Iterator[Finding]:
    yield from visit(active, "visit_items", list(native.items(file.source.data)), file)
