"""What a page says about itself, read back from the page: the verdict, what is worth knowing, what to do next."""

from __future__ import annotations

from typing import Any, NamedTuple

from jumar.core.read import decoded
from jumar.report.page import MARK, VERSION, Stage, Step, Tone, Verdict

GENERATOR = '<meta name="generator" content="jumar '
"""In the head of every page of ours."""


class Card(NamedTuple):
    kind: str
    title: str
    subject: str
    command: str
    stages: tuple[Stage, ...]
    verdict: Verdict
    points: tuple[str, ...]
    steps: tuple[Step, ...]
    made: str
    tool: str
    """Version of Jumar that wrote the page."""


def parse(fields: dict[str, Any]) -> Card:
    """A card from the JSON of a page; ValueError says what is wrong with it."""
    try:
        if int(fields["version"]) > VERSION:
            raise ValueError(f"version {fields['version']} is newer than this Jumar")
        verdict = fields["verdict"]
        return Card(
            str(fields["kind"]),
            str(fields["title"]),
            str(fields["subject"]),
            str(fields["command"]),
            tuple(Stage(one) for one in fields["stages"]),
            Verdict(Tone(verdict["tone"]), str(verdict["text"]), str(verdict["word"])),
            tuple(map(str, fields["points"])),
            tuple(Step(str(step["why"]), str(step["command"])) for step in fields["steps"]),
            str(fields["made"]),
            str(fields["tool"]["version"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"a field is missing or has another form: {error}") from error


def carried(html: str) -> dict[str, Any]:
    """The JSON that a page of ours carries; ValueError says why there is none."""
    _, found, rest = html.rpartition(f'id="{MARK}">')
    text, end, _ = rest.partition("</script>")
    if not found:
        raise ValueError("a page of an older Jumar, or not one that `jumar report` can join")
    if not end:
        raise ValueError("the page is cut off")
    fields = decoded(text)
    if not isinstance(fields, dict):
        raise ValueError("the page carries something else than an object")
    return fields
