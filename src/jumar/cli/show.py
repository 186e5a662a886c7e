"""Prints results and writes what was asked for; the same for every verb that has them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.core import notes, printable
from jumar.core.compat import zip
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK
from jumar.core.lang import t

if TYPE_CHECKING:
    from jumar.core.finding import Finding
    from jumar.migrate.result import ProjectResult


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """The one way of text to a stream: what others wrote cannot steer the terminal; our own colours stay."""
    click.echo(printable.coloured(text), err=err, nl=nl)


def passed(line: str, *, err: bool = False) -> None:
    """A line of a program that the user runs, with its colours."""
    click.echo(printable.of_program(line), err=err)


def rules(*, as_json: bool) -> int:
    """The list of rules."""
    from jumar.app import migrate
    from jumar.report import text

    rows = migrate.rules()
    if as_json:
        fields = ("id", "name", "safety", "summary")
        document({"rules": [dict(zip(fields, row, strict=True)) for row in rows]})
    else:
        lines(text.rules(rows))
    return EXIT_OK


def checked(found: list[Finding], *, as_json: bool) -> int:
    """What a check found, and the exit code that says whether it found anything."""
    from jumar.report import json, text

    if as_json:
        document({"findings": [json.finding(row) for row in found]})
    else:
        lines(text.findings(found, ()))
        if not found:
            say("nothing is wrong", err=True)
    return EXIT_FINDINGS if found else EXIT_OK


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """One text for a person, in the language of the reader; what programs read goes through `echo`."""
    echo(t(text), err=err, nl=nl)


def told(texts: Iterable[str], *, err: bool = False) -> None:
    """Lines for a person."""
    for line in texts:
        say(line, err=err)


def written_in_place(result: ProjectResult) -> str:
    """Write the changes over the files, and say so."""
    from jumar.app import migrate

    written = migrate.in_place(result)
    return f"written in place: {len(written)} file{'' if len(written) == 1 else 's'}"


def written_to(result: ProjectResult, paths: list[Path], options: dict[str, Any]) -> str:
    """Write the changed copy that `--out` asks for, warn of what was not copied, and say so."""
    from jumar.app import migrate

    for path in migrate.copy(result, paths, options["out"], force=options["force"]):
        say(f"warning: not copied: `{path}`", err=True)
    return f"written to `{options['out']}`"


def write_files(files: Mapping[Path, bytes], *, quiet: bool = False, root: str | None = None) -> None:
    """Write report files, and say so."""
    from jumar.app import report_files

    for path, data in files.items():
        report_files.write({path: data}, root)
        if not quiet:
            say(f"wrote `{path}`", err=True)


def page(path: Path | None, document: dict[str, Any]) -> None:
    """Write the page of a JSON document of ours where one is asked for, and say so."""
    if path is None:
        return
    from jumar.report import pages

    write_files({path: pages.kinds()[document["kind"]](document).html().encode()})


def document(fields: dict[str, Any]) -> None:
    """One JSON document with the head that all of ours have."""
    from jumar.report import json

    echo(json.dump(_with_notes(fields)))


def whole(document: dict[str, Any]) -> None:
    """One JSON document as it is, such as the `to_json()` of a result."""
    from jumar.report import json

    echo(json.text(_with_notes(document)))


def _with_notes(document: dict[str, Any]) -> dict[str, Any]:
    """What was told on stderr beside the result belongs into the document too."""
    texts = notes.heard()
    return {**document, "notes": texts} if texts else document


def lines(texts: Iterable[str], *, err: bool = False) -> None:
    for line in texts:
        echo(line, err=err)


def raw(data: bytes) -> None:
    """Bytes to stdout in order with what was printed: as they are for a program, harmless for a terminal."""
    if sys.stdout.isatty():
        echo(data.decode(sys.stdout.encoding, "backslashreplace"), nl=False)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def has_colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
