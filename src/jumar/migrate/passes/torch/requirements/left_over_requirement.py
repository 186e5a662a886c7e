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


def finish(file: TextFile) -> Iterator[Finding]:
    for start, end in file.requirement_spans:
        text = file.text((start, end))
        marker = markers.found(text)
        if marker and markers.is_for_npus(text) and not file.is_covered(start, end):
            yield file.report(
                RULE, (start, end), State.BENIGN, f"`{text.strip()[:80]}` is made for NPUs", subject=marker
            )
        elif marker and not file.is_covered(start, end):
            fix = "check whether it has a build without CUDA"
            yield file.report(
                RULE, (start, end), State.HAND, f"`{text.strip()[:80]}` may need CUDA", fix, subject=marker
            )
