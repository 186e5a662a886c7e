"""The import that rewritten lines need; the engine adds it, this file gives it a name and a page."""

from __future__ import annotations

from jumar.migrate.engine import IMPORTS as RULE

__all__ = ["RULE"]
