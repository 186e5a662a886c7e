"""`jumar explain`: what a log, an error code, a finding or an environment variable means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from jumar.cli import reader, show, streams, values
from jumar.cli.progress import Waiting
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK

if TYPE_CHECKING:
    from jumar.app.explain import Answer


@click.command("explain", short_help="Explain an error, a log or a finding")
@click.argument("names", nargs=-1, required=True, metavar="FILE|ID...", shell_complete=values.explained)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(names: tuple[str, ...], as_json: bool) -> int:
    """Explain what happened, why, and what to do.

    FILE is a log of any size, plain or packed, a folder of logs, or `-` for stdin; several together are one job, such
    as the logs of its ranks. ID is an error code (507015, EI0006), a finding or rule (PT101, cuda-device-string), an
    environment variable (HCCL_CONNECT_TIMEOUT), or a message in quotes. Exit code 1: a log holds
    an error, known or not; 0: it holds none.
    """
    from jumar.app import explain

    found = []
    answers = explain.answers(explain.ExplainRequest(names, streams.given() if "-" in names else None))
    while (answer := _next(answers)) is not None:
        found.append(answer)
        if answer.renamed and answer.page is not None:
            show.say(f"`{answer.renamed}` is now `{answer.page.id}`", err=True)
        if as_json:
            continue
        if answer.page is not None and reader.is_person():
            reader.markdown(answer.text)
        else:
            show.echo(answer.text)
    result = explain.ExplainResult(tuple(found))
    if as_json:
        show.whole(result.to_json())
    return EXIT_FINDINGS if result.is_error else EXIT_OK


def _next(answers: Iterator[Answer]) -> Answer | None:
    with Waiting("reading the log"):
        return next(answers, None)
