"""The language of one call: `--lang`, else `JUMAR_LANG`, else the locale; English where the output has no Chinese."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from jumar.core import lang
from jumar.runtime import tell, variables


@contextmanager
def of(args: Sequence[str]) -> Iterator[None]:
    """Messages, help and the processes that are started inside have the language of this call."""
    asked = _asked(before_verb(args))
    language = tell.language(asked)
    formatter, variable = click.Context.formatter_class, os.environ.get(variables.LANG.name)
    if asked:
        os.environ[variables.LANG.name] = asked
    if language == lang.CHINESE:
        from jumar.cli.formatter import ChineseFormatter

        click.Context.formatter_class = ChineseFormatter
    try:
        with lang.chosen(language):
            yield
    finally:
        click.Context.formatter_class = formatter
        if asked and variable is None:
            del os.environ[variables.LANG.name]
        elif asked and variable is not None:
            os.environ[variables.LANG.name] = variable


def check() -> None:
    """Refuse a `JUMAR_LANG` that names no language."""
    variables.LANG.read()


def before_verb(args: Sequence[str]) -> list[str]:
    """The options of `jumar` itself, which stand before the verb."""
    found: list[str] = []
    for word in args:
        if not word.startswith("-") and found[-1:] != ["--lang"]:
            break
        found.append(word)
    return found


def _asked(options: list[str]) -> str | None:
    """The language that is named; click refuses other words."""
    for word, after in zip(options, [*options[1:], ""]):
        name, _, value = word.partition("=")
        if name == "--lang" and (value or after) in lang.LANGUAGES:
            return value or after
    return None
