"""What pages are made of: tables that sort and filter, tiles, bars, findings, commands. Everything is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from jumar.core.compat import zip
from jumar.report.text import count
from jumar.report.words import shown as reader
from jumar.report.words import t, translate

__all__ = [
    "Cell",
    "Markup",
    "Slice",
    "Tile",
    "bar",
    "bullets",
    "code",
    "count",
    "figure",
    "fold",
    "legend",
    "note",
    "panel",
    "paragraph",
    "pre",
    "scroll",
    "steps",
    "table",
    "tiles",
]

FIND = 8
"""A table with more rows gets its filter box."""


class Cell(NamedTuple):
    """A cell that sorts by something else than its text, or has a colour."""

    text: str | Markup
    key: float | str | None = None
    hue: str = ""


class Tile(NamedTuple):
    value: str
    name: str
    note: str = ""
    hue: str = ""


class Slice(NamedTuple):
    """A part of a bar."""

    name: str
    value: float
    hue: str
    shown: str = ""
    """The value for people."""


def code(text: str) -> Markup:
    """In the language of the reader; backticks become code."""
    if isinstance(text, Markup):
        return text
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(reader(text)))))


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str | Markup | Cell]],
    *,
    numbers: Iterable[int] = (),
    name: str = "",
    find: bool | None = None,
    hues: Iterable[str] = (),
) -> Markup:
    """Rows below heads; each head sorts. `numbers` are columns with figures, `name` says what the table shows.

    Below 700 px each row is a block with the head beside each value. `hues` colours whole rows.
    """
    right, body = set(numbers), list(rows)
    heads, name = [translate(head) for head in heads], translate(name)
    colours = [*hues, *([""] * len(body))]
    shown = Markup("").join(_row(heads, row, right, hue) for row, hue in zip(body, colours[: len(body)], strict=True))
    top = Markup("").join(
        Markup('<th scope="col"{}>{}</th>').format(Markup(' class="n"') if at in right else "", head)
        for at, head in enumerate(heads)
    )
    made = Markup('<table class="list"{}><thead><tr>{}</tr></thead><tbody>{}</tbody></table>').format(
        Markup(' aria-label="{}"').format(name) if name else "", top, shown
    )
    wanted = len(body) > FIND if find is None else find
    return (_filter(name) if wanted else Markup("")) + scroll(made, name)


def _row(heads: Sequence[str], row: Sequence[str | Markup | Cell], right: set[int], hue: str) -> Markup:
    cells = Markup("").join(
        _cell(head, cell, at in right) for at, (head, cell) in enumerate(zip(heads, row, strict=True))
    )
    return Markup("<tr{}>{}</tr>").format(Markup(' class="tint c-{}"').format(hue) if hue else "", cells)


def _cell(head: str, value: str | Markup | Cell, right: bool) -> Markup:
    cell = value if isinstance(value, Cell) else Cell(value)
    classes = " ".join([*(["n"] if right else []), *([f"num c-{cell.hue}"] if cell.hue else [])])
    text = cell.text if isinstance(cell.text, Markup) else code(cell.text)
    return Markup('<td data-head="{}"{}{}>{}</td>').format(
        head,
        Markup(' class="{}"').format(classes) if classes else "",
        Markup(' data-key="{}"').format(cell.key) if cell.key is not None else "",
        text,
    )


def _filter(name: str) -> Markup:
    return Markup(
        '<form class="filter js" role="search"><label>{} <input type="search" class="find" autocomplete="off"></label>'
        '<output aria-live="polite" aria-label="{}"></output></form>'
    ).format(translate("Filter"), name or translate("rows"))


def scroll(body: Markup, name: str = "") -> Markup:
    """A box that scrolls by itself, by keyboard too, so that the page never does."""
    return Markup('<div class="scroll" tabindex="0" role="region" aria-label="{}">{}</div>').format(
        translate(name or "table"), body
    )


def tiles(found: Iterable[Tile]) -> Markup:
    shown = Markup("").join(
        Markup('<div class="tile{}"><b>{}</b><span>{}</span><small>{}</small></div>').format(
            f" c-{one.hue}" if one.hue else " plain", reader(one.value), code(t(one.name)), code(t(one.note))
        )
        for one in found
    )
    return Markup('<div class="tiles">{}</div>').format(shown)


def bar(slices: Sequence[Slice], *, more: Sequence[str] = ()) -> Markup:
    """Shares of a whole, with a legend that says every number; `more` is said behind it."""
    slices = [one._replace(name=translate(one.name)) for one in slices]
    whole = sum(one.value for one in slices) or 1.0
    inside = Markup("").join(
        Markup('<i class="c-{}" style="flex:{:.4f}" title="{}: {}">{}</i>').format(
            one.hue, one.value / whole, one.name, one.shown or f"{one.value:,.0f}", _share(one.value / whole)
        )
        for one in slices
    )
    said = ", ".join(f"{one.name} {one.shown or f'{one.value:,.0f}'}" for one in slices)
    return Markup('<div class="bar big" role="img" aria-label="{}">{}</div>{}').format(
        said, inside, legend([(one.hue, f"{one.name}: {one.shown or f'{one.value:,.0f}'}") for one in slices], more)
    )


def _share(share: float) -> Markup:
    return Markup("<em>{:.0f} %</em>").format(100 * share) if share > 0.15 else Markup("")


def legend(keys: Iterable[tuple[str, str]], more: Iterable[str] = ()) -> Markup:
    shown = [Markup('<span class="c-{}"><i></i>{}</span>').format(hue, translate(name)) for hue, name in keys]
    shown += [Markup("<span>{}</span>").format(code(text)) for text in more]
    return Markup('<p class="legend">{}</p>').format(Markup("").join(shown))


def figure(title: str, body: Markup) -> Markup:
    return Markup("<figure><figcaption>{}</figcaption>{}</figure>").format(code(title), body)


def panel(title: str, body: Markup = Markup(""), *, hue: str = "grey", badge: str = "", aside: str = "") -> Markup:  # noqa: B008
    """A finding, an advice, a remark: a title with a badge, and what belongs to it."""
    return Markup('<div class="panel tint c-{}"><p class="head">{}<span>{}</span>{}</p>{}</div>').format(
        hue,
        Markup('<span class="badge">{}</span> ').format(badge) if badge else "",
        code(title),
        Markup('<span class="gain">{}</span>').format(code(aside)) if aside else "",
        body,
    )


def note(text: str) -> Markup:
    """What a page leaves out, or something to know first."""
    return Markup('<p class="cut">{}</p>').format(code(text))


def paragraph(text: str) -> Markup:
    return Markup("<p>{}</p>").format(code(text))


def bullets(texts: Iterable[str]) -> Markup:
    shown = Markup("").join(Markup("<li>{}</li>").format(code(text)) for text in texts)
    return Markup("<ul>{}</ul>").format(shown) if shown else Markup("")


def pre(text: str) -> Markup:
    """Text as it is: code, commands."""
    return Markup('<pre tabindex="0">{}</pre>').format(text)


def steps(found: Iterable[tuple[str, str]]) -> Markup:
    """An ordered list of what to do, with the command of each."""
    shown = Markup("").join(
        Markup("<li>{}{}</li>").format(code(why), pre(command) if command else "") for why, command in found
    )
    return Markup('<ol class="steps">{}</ol>').format(shown)


def fold(title: str, body: Markup, *, is_open: bool = False) -> Markup:
    return Markup('<details class="file"{}><summary><b>{}</b></summary>{}</details>').format(
        Markup(" open") if is_open else "", code(title), body
    )
