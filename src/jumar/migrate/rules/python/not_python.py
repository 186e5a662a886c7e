"""A file that Python 3 cannot parse; the engine finds it, this file gives it a name and a page."""

from __future__ import annotations

from jumar.migrate.engine import UNPARSED as RULE

__all__ = ["RULE"]
