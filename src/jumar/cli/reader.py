"""Shows Markdown to a person: with headings and colours, and page by page if it does not fit the terminal."""

from __future__ import annotations

import os
import shutil
import sys

import click

from jumar.core.printable import printable


def is_person() -> bool:
    """Is somebody looking, and not a program?"""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def markdown(text: str) -> None:
    """Render it; a long one goes through the pager (`PAGER`, `less` by default)."""
    from rich.console import Console
    from rich.markdown import Markdown

    size = shutil.get_terminal_size()
    console = Console(width=min(size.columns, 100), force_terminal=True, no_color="NO_COLOR" in os.environ or None)
    with console.capture() as drawn:
        console.print(Markdown(printable(text), hyperlinks=False))
    if drawn.get().count("\n") < size.lines:
        click.echo(drawn.get(), nl=False)
        return
    os.environ.setdefault("LESS", "-R")
    click.echo_via_pager(drawn.get(), color=True)
