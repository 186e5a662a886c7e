"""`--until 22:50` as a moment."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from jumar.core.errors import UserError


def moment(text: str, grace: int, now: datetime) -> float:
    """Seconds since the epoch of the next `HH:MM`; raises an error if the job would have to stop at once."""
    found = re.fullmatch(r"(\d{1,2}):(\d{2})(?::(\d{2}))?", text)
    if found is None or int(found[1]) > 23 or int(found[2]) > 59 or int(found[3] or 0) > 59:
        raise UserError(f"`--until`: `{text}` is not a time of day", "write it as `22:50`")
    then = now.replace(hour=int(found[1]), minute=int(found[2]), second=int(found[3] or 0), microsecond=0)
    if then <= now:
        then += timedelta(days=1)
    left = (then - now).total_seconds()
    if left <= grace:
        raise UserError(
            f"`--until {text}` is in {left:.0f} s, but the job gets its signal {grace} s before",
            "start it later, or give it less time to save with `--grace`",
        )
    return then.timestamp()
