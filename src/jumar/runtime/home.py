"""The user's home and configuration folders; an account without a home gets a message instead of a folder named `~`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from jumar.core.errors import UserError


def path() -> str:
    found = os.path.expanduser("~")
    if not os.path.isabs(found):
        raise UserError("this account has no home folder", "set `HOME` to a folder that it may write to")
    return found


def config(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of what the user told Jumar: settings, keys, trust."""
    values = os.environ if environ is None else environ
    base = values.get("XDG_CONFIG_HOME") or ""
    if not os.path.isabs(base):  # as the specification of the variable asks for; else the project's folder would count
        base = os.path.join(values.get("HOME") or path(), ".config")
    return Path(base, "jumar")
