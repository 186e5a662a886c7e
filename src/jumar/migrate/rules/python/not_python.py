"""A Python file that Python 3 cannot parse; the engine meets it, this file gives it a name and a page."""

from __future__ import annotations

from jumar.migrate.rule import Rule

RULE = Rule("PT001", "not-python", "a Python file that cannot be parsed", ())
