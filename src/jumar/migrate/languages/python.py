"""Python sources: the engine itself."""

from __future__ import annotations

from jumar.migrate.engine import migrate_python as migrate

__all__ = ["migrate"]
