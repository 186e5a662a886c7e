"""The import that adapted lines need; the engine adds it, this file gives it a name and a page."""

from __future__ import annotations

from jumar.migrate.rule import Rule

RULE = Rule("MA100", "cloud-helper-import", "the import that adapted lines need", ())
