"""What the engine asks about old MindSpore code."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from jumar.migrate.look import Text
from jumar.migrate.rule import Pass
from jumar.migrate.settings import Facts

_IMPORT = re.compile(rb"^[ \t]*(?:import|from)[ \t]+mindspore\b", re.MULTILINE)


def prepare(facts: Facts, texts: Sequence[Text]) -> Facts:
    """Files beside those that import MindSpore run with them, on the numpy that it brings."""
    found = (text.tells("mindspore-import", lambda raw: _IMPORT.search(raw) is not None) for text in texts)
    return dataclasses.replace(facts, mindspore=any(found))


PASS = Pass(
    name="mindspore",
    order=1,
    area="mindspore",
    is_wanted=lambda settings: settings.cloud is None,
    whole_files_only=True,
    prepare=prepare,
)
