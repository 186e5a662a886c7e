"""Read by every Python of a judged program: the processes that train record their losses."""

import os

if "RANK" in os.environ and os.environ.get("RECORD_LOSSES"):
    import record_losses  # noqa: F401
