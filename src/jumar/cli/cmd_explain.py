"""`jumar explain`: what a log, an error code, a finding or an environment variable means."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from jumar.core.errors import EXIT_FINDINGS, EXIT_OK, UserError

if TYPE_CHECKING:
    from jumar.machine.explain.names import Topic
    from jumar.tables.pages import Page


@click.command("explain", short_help="Say what an error, a log or a finding means")
@click.argument("names", nargs=-1, required=True, metavar="FILE|ID...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(names: tuple[str, ...], as_json: bool) -> int:
    """Say what happened, why, and what to do.

    FILE is a log of any size, plain or packed, a folder of logs, or `-` for stdin; several together are one job, such
    as the logs of its ranks. ID is an error code (507015, EI0006), a finding or rule (PT101, cuda-device-string), an
    environment variable (HCCL_CONNECT_TIMEOUT), or a message in quotes. Exit code 1: a log holds a known error.
    """
    documents: list[dict[str, Any]] = []
    logs: list[str] = []
    for name in names:
        explained = None if name == "-" else _name(name, as_json)
        if explained is None:
            logs.append(name)
        else:
            documents.append(explained)
    code = EXIT_OK
    if logs:
        document, code = _logs(logs, as_json)
        documents.append(document)
    if as_json:
        from jumar.report import json

        click.echo(json.dump(documents[0] if len(documents) == 1 else {"answers": documents}))
    return code


def _name(name: str, as_json: bool) -> dict[str, Any] | None:
    """Explain a name; None where it is a file."""
    from jumar.machine.explain import names

    page = _page(name)
    topic = None if page else names.topic(name)
    if page is not None:
        if not as_json:
            click.echo(page.text.rstrip("\n"))
        return {"id": page.id, "name": page.name, "area": page.area, "page": page.text}
    if topic is not None:
        if not as_json:
            _print_topic(topic)
        return _topic_json(topic)
    if Path(name).exists():
        return None
    if " " in name.strip():
        return _message(name, as_json)
    raise _not_known(name)


def _page(name: str) -> Page | None:
    from jumar.tables import pages

    known = pages.pages()
    by_name = {page.name: page.id for page in known.values()}
    asked = name.upper() if name.upper() in known or name.upper() in pages.renamed() else by_name.get(name.lower(), "")
    current = pages.renamed().get(asked, asked)
    if current in known and current != asked:
        click.echo(f"`{asked}` is now `{current}`", err=True)
    return known.get(current)


def _print_topic(topic: Topic) -> None:
    from jumar.cli import show
    from jumar.report import explain

    if topic.kind != "signature":
        click.echo(f"{topic.name}: {topic.title}")
        if topic.about:
            click.echo(topic.about)
        click.echo(f"source: {topic.source}")
    lines = list(explain.topic(topic.signatures))
    show.lines(lines[1:] if topic.kind == "signature" else lines)


def _topic_json(topic: Topic) -> dict[str, Any]:
    from jumar.report import explain

    rows = [explain.signature_json(row) for row in topic.signatures]
    return {**topic._asdict(), "kind": str(topic.kind), "signatures": rows}


def _message(text: str, as_json: bool) -> dict[str, Any]:
    from jumar.machine.explain import log
    from jumar.report import explain

    result = log.explain_text([text], "message")
    if not as_json:
        _print(explain.text(result))
    return explain.as_json(result)


def _logs(logs: list[str], as_json: bool) -> tuple[dict[str, Any], int]:
    from jumar.machine.explain import log
    from jumar.machine.explain.source import Source
    from jumar.report import explain

    if logs.count("-") > 1:
        raise UserError("`-` can be given only once")
    stdin: BinaryIO = sys.stdin.buffer
    result = log.explain([Source("-", stdin) if name == "-" else name for name in logs])
    if not as_json:
        _print(explain.text(result))
    return explain.as_json(result), EXIT_FINDINGS if result.is_known else EXIT_OK


def _print(lines: Any) -> None:
    from jumar.cli import show

    show.lines(lines)


def _not_known(name: str) -> UserError:
    from jumar.core.nearest import did_you_mean
    from jumar.machine.explain import names
    from jumar.tables import pages

    known = pages.pages()
    near = [*known, *(page.name for page in known.values()), *names.known()]
    folder = Path(name).parent
    if folder.is_dir():
        near += [str(folder / item.name) if "/" in name else item.name for item in folder.iterdir()]
    hint = "give a log file, a code such as 507015 or EI0006, a finding's id, or a variable; `-` reads stdin"
    return UserError(f"no such file, code, finding or variable: `{name}`", did_you_mean(name, near, hint))
