"""The user's home folder; an account without one gets a message instead of a folder named `~`."""

from __future__ import annotations

import os

from jumar.core.errors import UserError


def path() -> str:
    found = os.path.expanduser("~")
    if not os.path.isabs(found):
        raise UserError("this account has no home folder", "set `HOME` to a folder that it may write to")
    return found
