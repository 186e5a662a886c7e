"""What the commands of `jumar cloud` share: options, and how rows are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from jumar.cli import show as printing

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
SHARED = (
    click.option("--target", metavar="NAME", help="`local` (the default), `huaweicloud`, or one of `jumar.toml`."),
    click.option("--endpoint", metavar="URL", help="OBS or S3 endpoint, instead of the target's own."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
)
COPY = (
    click.option(
        "--ignore", multiple=True, metavar="PATTERN", help="Skip these files, in .gitignore syntax; repeatable."
    ),
    click.option("--checksum", is_flag=True, help="Compare contents instead of size and time."),
    click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Transfers at a time."),
    click.option("--print", "only_print", is_flag=True, help="Print what would be copied and exit."),
    click.option("-q", "--quiet", is_flag=True, help="No summary, no progress."),
)


def options(*groups: tuple[Callable[[Any], Any], ...]) -> Callable[[Decorated], Decorated]:
    def add(function: Decorated) -> Decorated:
        for decorate in reversed([one for group in groups for one in group]):
            function = decorate(function)
        return function

    return add


def show(rows: list[dict[str, Any]], lines: list[str], as_json: bool) -> None:
    if as_json:
        printing.document({"rows": rows})
    else:
        printing.told(lines)
