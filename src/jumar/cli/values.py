"""Values that the Tab key offers: chips, rules, everything that can be explained, jobs of this machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def chips(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from jumar.tables import chips

    return _beginning(chips.chips(), incomplete)


def rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from jumar.app import completion

    return _beginning(completion.rules(), incomplete)


def explained(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids, names and codes; and files, which the shell knows."""
    from click.shell_completion import CompletionItem

    from jumar.app import completion

    words = completion.explained(every=bool(incomplete))
    return [*(CompletionItem(word) for word in _beginning(words, incomplete)), CompletionItem(incomplete, type="file")]


def jobs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Only those of the stand-in on this machine: the Tab key asks no cloud."""
    if ctx.params.get("target") not in (None, "local"):
        return []
    from jumar.app.cloud_place import opened_place

    with opened_place("local") as place:
        return _beginning([job.id for job in place.platform().list()], incomplete)


def _beginning(words: Iterable[str], begin: str) -> list[str]:
    """Those that begin so, whatever the case of the letters."""
    return sorted({word for word in words if word.lower().startswith(begin.lower())})
