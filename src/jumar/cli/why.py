"""What the logs of failed ranks mean, where the part that explains logs is there."""

from __future__ import annotations

import importlib
from pathlib import Path


def why(folder: Path) -> list[str]:
    """Lines that explain the errors in a job's logs; none when nothing is known about them."""
    try:
        log = importlib.import_module("jumar.machine.explain.log")
        report = importlib.import_module("jumar.report.explain")
    except ImportError:
        return []
    result = log.explain(sorted(folder.glob("rank_*.log")))
    return list(report.text(result)) if result.is_known else []
