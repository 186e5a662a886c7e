"""A file on which Jumar itself failed; it is left as it is and the others go on."""

from __future__ import annotations

from jumar.migrate.rule import Rule

RULE = Rule("PT003", "internal-error", "a file on which Jumar failed", ())
