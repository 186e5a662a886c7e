"""The one file that a self-test leaves: results as JSON and the page, packed; nothing in it names a machine."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jumar import __version__
from jumar.core import read as files
from jumar.core.errors import UserError
from jumar.selftest.result import SelfTest

FORMAT = 1
RESULTS, PAGE = "selftest.json", "selftest.html"
_LARGEST = 64 << 20
_DAY = (1980, 1, 1, 0, 0, 0)
"""Of the files inside: the hour of a test is nobody's business."""


def scrubbed(test: SelfTest, scrub: Callable[[str], str]) -> SelfTest:
    """The test without names and addresses, in every text that it holds."""
    return SelfTest.read(_over(test.document(), scrub))


def pack(test: SelfTest, page: str) -> bytes:
    """The archive of a test that was scrubbed."""
    document = {"format": FORMAT, "jumar": __version__, **test.document()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in ((RESULTS, json.dumps(document, indent=1)), (PAGE, page)):
            packed.writestr(zipfile.ZipInfo(name, _DAY), text, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def read(path: Path) -> tuple[SelfTest, str]:
    """The test, and a name for its source: the archive's hash, and the versions that it was made with."""
    try:
        raw = files.content(path)
        with zipfile.ZipFile(io.BytesIO(raw)) as packed:
            document: dict[str, Any] = files.decoded(files.unpacked(packed, RESULTS, _LARGEST))
        if document.get("format") != FORMAT:
            raise UserError(
                f"`{path}` has format {document.get('format')}, this Jumar reads {FORMAT}", "update jumar and try again"
            )
        test = SelfTest.read(document)
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"`{path}` is no archive of `jumar selftest`: {error}", "name the file that it wrote"
        ) from error
    machine = test.machine
    versions = [f"{name} {machine[name]}" for name in ("torch_npu", "cann", "driver") if machine.get(name)]
    digest = hashlib.sha256(raw).hexdigest()[:16]
    return test, ", ".join([f"selftest archive {digest}", test.day, f"jumar {document.get('jumar')}", *versions])


def _over(value: Any, scrub: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {scrub(key) if isinstance(key, str) else key: _over(item, scrub) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_over(item, scrub) for item in value]
    return scrub(value) if isinstance(value, str) else value
