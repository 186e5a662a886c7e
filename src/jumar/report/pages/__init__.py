"""Pages of documents, one module for each `kind`: `page(document)` makes the page of what `--json` printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jumar.core import discover
from jumar.report.page import Page

VERSION = 1
"""The newest version of a document that these pages read."""


def kinds() -> dict[str, Callable[[dict[str, Any]], Page]]:
    """What makes the page of each kind of document; modules are found by their place."""
    found = discover.modules("jumar.report.pages")
    return {kind: module.page for module in found for kind in module.KINDS}
