"""What is left of CUDA words in requirement files that no other rule has explained."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Safety, State
from jumar.migrate.passes.torch import markers
from jumar.migrate.rule import Rule
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="RQ900",
    name="left-over-requirement",
    summary="a CUDA word in a requirement that no other rule covers",
    keywords=markers.WORDS,
    safety=Safety.SHOW,
)
_INDEXES = ("--extra-index-url", "--index-url", "--find-links", "-f ", "-i ")


def finish(file: TextFile) -> Iterator[Finding]:
    for start, end in file.requirement_spans:
        text = file.text((start, end))
        marker = markers.found(text)
        if marker and markers.is_for_npus(text) and not file.is_covered(start, end):
            yield file.report(
                RULE, (start, end), State.BENIGN, f"`{text.strip()[:80]}` is made for NPUs", subject=marker
            )
        elif marker and not file.is_covered(start, end):
            is_index = text.lstrip().startswith(_INDEXES)
            message = f"`{text.strip()[:80]}` may need CUDA"
            fix = "leave the index out" if is_index else "check whether it has a build without CUDA"
            subject = f"index {marker}" if is_index else marker
            yield file.report(RULE, (start, end), State.HAND, message, fix, subject=subject)
