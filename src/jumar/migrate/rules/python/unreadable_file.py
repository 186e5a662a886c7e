"""A file that was left out: no permission, too large, not text; the project walk meets it."""

from __future__ import annotations

from jumar.migrate.rule import Rule

RULE = Rule("PT002", "unreadable-file", "a file that cannot be read", ())
