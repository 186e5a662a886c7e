"""What the engine asks about `jumar cloud adapt`."""

from __future__ import annotations

import os

from jumar.core.source import Source
from jumar.migrate.passes.cloud import helper
from jumar.migrate.passes.cloud.python import cloud_helper_import
from jumar.migrate.rule import After, Imports, NewFile, Pass


def wrote(source: Source) -> bool:
    """Is this the helper module?"""
    return source.path.endswith(f"{helper.NAME}.py") and b"Written by `jumar cloud" in source.data[:1000]


def files(after: After) -> tuple[NewFile, ...]:
    """The helper beside the boot file, when this text uses it."""
    cloud = after.settings.cloud
    if cloud is None or helper.NAME.encode() not in after.source.data:
        return ()
    folder = os.path.relpath(os.path.dirname(cloud.boot) or ".", os.path.dirname(after.source.path) or ".")
    name = f"{helper.NAME}.py"
    return ((os.path.join(folder, name) if folder != "." else name, helper.text()),)


PASS = Pass(
    name="cloud",
    area="cloud",
    is_wanted=lambda settings: settings.cloud is not None,
    imports=Imports(cloud_helper_import.RULE),
    wrote=wrote,
    files=files,
)
