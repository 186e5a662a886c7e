"""What a project's runs left behind: documents, pages, records and profiles, each known by its own marks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jumar.core import read as contents
from jumar.core.errors import UserError, from_os
from jumar.report import pages
from jumar.report.card import GENERATOR, Card, carried, parse
from jumar.report.page import Page, Stage, Verdict, stamp

ASIDE = {"node_modules", "site-packages", "__pycache__", ".git", ".venv", ".tox"}
"""Folders that hold no runs."""
SITE = "site.json"
"""In a folder that `jumar report` wrote: it is not read again."""
HEAD = 4096
"""Bytes that tell whether a file is ours: documents and pages say so at their top."""
MOST = 256 << 20
PROFILE = "_ascend_pt"
_AGAIN = "write it again with this version of Jumar"


class Source(NamedTuple):
    """Something of ours: the page to show, or the page's text as it was found, and its card."""

    path: Path
    card: Card
    page: Page | None = None
    html: str = ""
    document: dict[str, Any] | None = None


class Broken(NamedTuple):
    path: Path
    reason: str


class Record(NamedTuple):
    """A recorded run of `jumar compare record`."""

    path: Path
    meta: dict[str, Any]


def walk(folder: Path, out: Path) -> Iterator[Path]:
    """Files that may be ours, and folders of records and profiles, in a fixed order; an older site is left out."""
    for place, folders, files in os.walk(folder):
        here = Path(place)
        folders[:] = sorted(name for name in folders if name not in ASIDE and (here / name).resolve() != out.resolve())
        if SITE in files and _is_site(here / SITE):
            folders[:] = []
            continue
        if (here / "rank0" / "meta.json").is_file():
            yield here
            folders[:] = []
            continue
        for name in [name for name in folders if name.endswith(PROFILE)]:
            yield here / name
            folders.remove(name)
        ours = (here / name for name in sorted(files) if name.endswith((".json", ".html", ".htm")))
        yield from (path for path in ours if path.is_file())  # opening a pipe would wait


def read(path: Path) -> Source | Record | Broken | None:
    """What a path is; None if it is not ours. Profiles are read elsewhere: that takes longer."""
    try:
        if path.is_dir():
            return _record(path)
        with contents.opened(path) as file:
            head = file.read(HEAD).decode("utf-8", "replace")
            is_page = GENERATOR in head
            if not is_page and '"jumar"' not in head:
                return None
            if os.fstat(file.fileno()).st_size > MOST:
                return Broken(path, f"it is larger than {MOST >> 20} MB")
            file.seek(0)
            text = file.read().decode("utf-8")
        return _page(path, text) if is_page else _document(path, text)
    except UnicodeDecodeError:
        return Broken(path, "it is not UTF-8")
    except (ValueError, RecursionError) as error:
        return Broken(path, f"it is damaged: {error}")
    except UserError as error:
        return Broken(path, error.message)
    except OSError as error:
        return Broken(path, from_os(error).message)


def of_page(path: Path, page: Page, document: dict[str, Any] | None = None) -> Source:
    return Source(path, parse(page.card()), page, document=document)


def _page(path: Path, text: str) -> Source | Broken | None:
    try:
        card = parse(carried(text))
    except ValueError as error:
        return Broken(path, f"{error}; {_AGAIN}")
    return None if card.kind == "report" else Source(path, card, html=text)


def _document(path: Path, text: str) -> Source | Broken | None:
    document = contents.decoded(text)
    tool = document.get("tool") if isinstance(document, dict) else None
    if not isinstance(tool, dict) or tool.get("name") != "jumar":
        return None
    if document.get("errors"):
        return Broken(path, f"the run failed: {_failed(document['errors'])}")
    kind, version = document.get("kind"), document.get("version")
    makers = pages.kinds()
    if not isinstance(kind, str):
        return Broken(path, f"it does not say what it is; {_AGAIN}")
    if kind not in makers:
        return Broken(path, f"a document of the kind `{kind}`, which has no page")
    if not isinstance(version, int) or version > pages.VERSION:
        return Broken(path, f"version {version} of its form is not known; use the Jumar that wrote it")
    try:
        page = makers[kind](document)
        return of_page(path, _dated(page, path, str(tool.get("version", ""))), document)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        return Broken(path, f"a `{kind}` document with a field that is missing or has another form: {error}; {_AGAIN}")


def _dated(page: Page, path: Path, tool: str) -> Page:
    """The page with the date and the Jumar of its document."""
    from dataclasses import replace

    return replace(page, made=path.stat().st_mtime, tool=tool or page.tool)


def _failed(errors: Any) -> str:
    first = errors[0] if isinstance(errors, list) else None
    return str(first.get("message")) if isinstance(first, dict) else "it does not say why"


def _is_site(path: Path) -> bool:
    try:
        return bool(contents.decoded(contents.content(path, most=MOST))["kind"] == "report")
    except (UserError, ValueError, KeyError, TypeError):
        return False


def _record(path: Path) -> Record | Broken | None:
    meta = contents.decoded(contents.content(path / "rank0" / "meta.json", most=MOST))
    if not isinstance(meta, dict) or not {"format", "jumar"} <= meta.keys():
        return None
    return Record(path, meta)


def of_record(record: Record) -> Card:
    """A record as a run; it has no page of its own."""
    meta, name = record.meta, record.path.name
    where = f"{meta.get('device')}{' (emulated)' if meta.get('emulated') else ''}, {meta.get('dtype')}"
    said = f"{meta.get('recorded')} of {meta.get('steps')} steps recorded on {where}, torch {meta.get('torch')}"
    code = meta.get("exit_code")
    verdict = (
        Verdict.bad(f"the program ended with {code}; {said}", "failed") if code else Verdict.good(said, "recorded")
    )
    words = " ".join(map(str, meta.get("command") or []))
    made = stamp((record.path / "rank0" / "meta.json").stat().st_mtime)
    command = f"jumar compare record -o {name} -- {words}"
    return Card("record", "A recorded run", name, command, (Stage.RUNS,), verdict, (), (), made, str(meta["jumar"]))


def profiles(found: Iterable[Path], known: Iterable[Source]) -> Iterator[Source | Broken]:
    """Profiles that no document is about, each read as `jumar perf read` does; ranks beside each other are one."""
    from jumar.app import perf

    seen = {
        part
        for source in known
        if source.document is not None and source.card.kind == "perf"
        for rank in source.document["ranks"]
        for part in Path(rank["path"]).parts
    }
    for folder in dict.fromkeys(path.parent for path in found if path.name not in seen):
        try:
            yield of_page(folder, perf.read(folder).page())
        except UserError as error:
            yield Broken(folder, error.message)
