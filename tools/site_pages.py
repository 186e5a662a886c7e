"""Pages of the site that are made from tables: one for each finding and each known error, and their lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from jumar.core import lang, prose
from jumar.core.lang import t
from jumar.tables import errors, pages
from jumar.tables.errors import Certainty, Signature

DOCS = Path(__file__).parents[1] / "docs"
_HTML = str.maketrans({"<": "&lt;", ">": "&gt;", "|": "&#124;", "*": r"\*", "_": r"\_", "[": r"\["})
CATEGORIES = {
    "build": "Building operators and extensions",
    "chip": "What a chip cannot do",
    "container": "Containers",
    "device": "Device files",
    "distributed": "Distributed programs",
    "driver": "Driver",
    "driver-install": "Installing the driver",
    "env": "Environment",
    "export": "ATC and offline models",
    "hardware": "Hardware",
    "hccl": "HCCL",
    "host": "The host system",
    "import": "Imports",
    "install": "Installing CANN and frameworks",
    "kernels": "Operators",
    "memory": "Memory",
    "migration": "Left over from CUDA",
    "mindie": "MindIE",
    "mindspore": "MindSpore",
    "modelarts": "ModelArts",
    "pta": "torch_npu",
    "python": "Python programs",
    "python-deps": "Python packages",
    "runtime": "The runtime",
    "thread": "Particular failures",
    "version": "Versions that do not fit",
    "vllm": "vLLM",
}


def shown(page: str) -> str:
    """A page in the language of the site; its headings keep the anchors of the English ones."""
    if lang.current() == lang.ENGLISH:
        return page
    anchors = _anchors(page)
    parts = prose.blocks(prose.shown(page))
    return "".join(
        block.mark + block.text + (f" {{#{next(anchors)}}}" if block.mark.startswith("#") else "") for block in parts
    )


def _anchors(page: str) -> Iterator[str]:
    """What MkDocs makes of the headings of a page, as Markdown."""
    seen: Counter[str] = Counter()
    for block in prose.blocks(page):
        if block.mark.startswith("#"):
            plain = re.sub(r"\]\([^)]*\)|[^\w\- ]", "", block.text.lower()).replace(" ", "-")
            once = f"{plain}_{seen[plain]}" if seen[plain] else plain
            yield once.replace("_", r"\_")
            seen[plain] += 1


def made() -> dict[str, str]:
    """The text of each page by its place under docs: what tables and findings say is in the language of the site."""
    found = {"errors.md": _errors()}
    found |= {f"explain/{row.id}.md": error(row) for row in errors.signatures().values()}
    for path in sorted((DOCS / "findings").glob("*.md")):
        found |= _of_area(path.name, path.read_text(encoding="utf-8"))
    return found


def rule_ids() -> dict[str, str]:
    """The id of each page of a rule, by its place under docs."""
    known = pages.pages().values()
    places = {f"rules/{page.area}/{page.name}.md": page.id for page in known}
    return {place: id_ for place, id_ in places.items() if (DOCS / place).is_file()}


def _of_area(name: str, text: str) -> dict[str, str]:
    """The page of an area becomes its introduction and a list; each of its sections a page of its own."""
    head, *sections = re.split(r"^## (?=[A-Z]{2}\d{3} )", text, flags=re.M)
    rows, found = [], {}
    for section in sections:
        title, _, body = section.partition("\n")
        id_, word = title.split()
        body = prose.shown(body)
        found[f"explain/{id_}.md"] = f"# {title}\n\n[All findings of this command](../findings/{name})\n{body}"
        rows.append(f"| {id_} | [{word}](../explain/{id_}.md) | {_sentence(body)} |")
    listed = "\n".join(["| id | name | what it says |", "| --- | --- | --- |", *rows])
    return {f"findings/{name}": f"{head}{listed}\n", **found}


def _sentence(body: str) -> str:
    """The first sentence of a section, in one line."""
    words = " ".join(body.strip().partition("\n\n")[0].split())
    return re.split(r"(?<=[.:]) (?=\S)|(?<=[。：])", words)[0].rstrip(":：").replace("|", "&#124;")


def _errors() -> str:
    rows = errors.signatures().values()
    parts = [
        "# Known errors\n",
        f"`jumar explain` knows {len(rows)} errors by the lines that they leave in a log. Each has a page here: what"
        " happened, why, and what to do. Give it a log, and it finds them:\n",
        "```sh\njumar explain train.log\n```\n",
        "None of this was tried on a real NPU; each page names its source.\n",
    ]
    for category in sorted({row.category for row in rows}, key=lambda name: CATEGORIES[name].lower()):
        parts.append(f"## {CATEGORIES[category]}\n\n| id | what happened |\n| --- | --- |")
        chosen = sorted((row for row in rows if row.category == category), key=lambda row: row.id)
        parts.append("\n".join(f"| [{row.id}](explain/{row.id}.md) | {_plain(t(row.what))} |" for row in chosen) + "\n")
    return "\n".join(parts)


def error(row: Signature) -> str:
    """The page of one known error."""
    return "\n".join(_error(row)) + "\n"


def _error(row: Signature) -> Iterator[str]:
    guess = row.certainty is Certainty.POSSIBLE
    yield f"# {_plain(row.id)}\n\n[All known errors](../errors.md)\n"
    yield f"**{_capital(_plain(t(row.what)))}**\n"
    yield f"## In a log\n\n```text\n{row.example}\n```\n"
    yield f"## {'A possible reason' if guess else 'Why'}\n\n{_capital(_plain(t(row.why)))}\n"
    if row.do:
        steps = "\n".join(f"- {_plain(t(step))}" for step in row.do)
        yield f"## {'Worth a try' if guess else 'What to do'}\n\n{steps}\n"
    if row.is_form:
        yield "Names in braces are filled in from the line of the log.\n"
    yield f"## Source\n\n{_plain(row.source)}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _plain(text: str) -> str:
    """Plain words as Markdown; what stands in backticks stays code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else part.translate(_HTML) for part in parts)
