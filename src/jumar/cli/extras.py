"""Which extra of jumar installs a package that is not there: read from the installed metadata, so it is never stale."""

from __future__ import annotations

import re
from importlib import metadata

from jumar.core.errors import UserError

_NAMES = {"PIL": "pillow", "yaml": "pyyaml", "obs": "esdk-obs-python", "botocore": "boto3", "google": "onnx"}
"""Distributions whose module has another name."""
_OF_VERBS = ("export", "cloud", "perf")
"""Verbs with an extra of their own name; the others use that of the emulator."""
_ROW = re.compile(r"""^([\w.-]+).*extra == ['"]([\w-]+)['"]""")


def missing(module: str, verb: str) -> UserError | None:
    """The message for a module that cannot be imported; None for one that no extra installs."""
    root = module.partition(".")[0]
    package = _NAMES.get(root, root)
    rows = [match for row in metadata.requires("jumar") or () if (match := _ROW.match(row))]
    extras = [row[2] for row in rows if _plain(row[1]) == _plain(package) and row[2] != "dev"]
    if not extras:
        return None
    wanted = verb if verb in _OF_VERBS else "emulator"
    return UserError(
        f"`{package}` is not installed in this environment",
        f"pip install 'jumar[{wanted if wanted in extras else extras[0]}]'",
    )


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
