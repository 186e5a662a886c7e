"""What the commands of `jumar cloud` share: options, the store of a target, and how rows are shown."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from jumar.core.errors import UserError

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


@contextlib.contextmanager
def opened(target: str | None, endpoint: str | None, scheme: str) -> Iterator[Any]:
    """The store of a target, closed afterwards."""
    from jumar.cloud import target as targets

    found = targets.find(target or (targets.HUAWEICLOUD if endpoint else None), targets.load_config(Path()))
    if endpoint:
        if found.is_local:
            raise UserError("`--endpoint` is not for the target `local`", "leave one of the two out")
        found = found._replace(obs_endpoint=endpoint)
    with contextlib.closing(targets.open_store(found, scheme)) as store:
        yield store


def show(rows: list[dict[str, Any]], lines: list[str], as_json: bool) -> None:
    if as_json:
        from jumar.report import json

        click.echo(json.dump({"rows": rows}))
        return
    for line in lines:
        click.echo(line)


def human(size: int) -> str:
    value = float(size)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError
