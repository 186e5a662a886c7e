"""The Chinese catalogue against the sources: what is missing, what no source says any more, which places differ.

Usage: python tools/messages.py                  coverage of each area
       python tools/messages.py --missing AREA   entries to fill in and to put into AREA.po
       python tools/messages.py --update         drop what no source says any more, and sort by the sources
       python tools/messages.py --check          exit 1 if something is wrong; tests/test_messages.py asks the same
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

import message_errors
import message_sources as sources
from jumar.cli import tasks
from jumar.cli.main import VERBS, jumar
from jumar.core import lang, prose, tables
from message_words import is_prose

CATALOGUE = sources.SOURCES / "locale" / "zh_CN" / "LC_MESSAGES"
HEAD = 'msgid ""\nmsgstr "Language: zh_CN\\nContent-Type: text/plain; charset=UTF-8\\n"\n'
DOCS = Path(__file__).resolve().parents[1] / "docs"
TWIN = ".zh-CN.md"
SITE = "docs/site"
BY_HAND = ("forms", "pages", SITE)
"""Entries that join others, words of click, of the HTML pages and of the site's own pages: no source is compared."""
AVOID = ("模拟", "您", "文件夹", "适配")
"""Words that docs/glossary.md replaces: 仿真, 你, 目录, 改造."""


class Area(NamedTuple):
    """One `.po` file: the folders, tables and pages that its texts come from; `complete` ones may miss nothing."""

    folders: tuple[str, ...] = ()
    rows: tuple[tuple[str, frozenset[str]], ...] = ()
    pages: str = ""
    """A folder of `docs` whose pages have no Chinese twins."""
    complete: bool = False
    without: tuple[str, ...] = ()
    """Parts that speak English in every language: vendor programs and servers that they stand in for, what a user's
    program raises (`jumar explain` reads it), files that are copied into a project."""


def _rows(files: str, fields: str) -> tuple[str, frozenset[str]]:
    return files, frozenset(fields.split())


def _below(folder: str, names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}" for name in names.split())


AREAS = {
    "help": Area(complete=True),
    "app": Area(("core", "runtime", "tables", "app", "cli"), complete=True),
    "report": Area(("report",), complete=True, without=("report/policy.py",)),
    "launch": Area(("launch",), complete=True),
    "cloud": Area(
        ("cloud",),
        complete=True,
        without=_below(
            "cloud/standin",
            "changes.py dialect.py http.py listing.py modelarts_server.py mox moxing_file.py objects.py obs_server.py "
            "receive.py signature.py",
        ),
    ),
    "compare": Area(("compare",), complete=True),
    "perf": Area(("perf",), (_rows("data/perf_*.toml", "what change why replace note"),), complete=True),
    "parallel": Area(
        ("parallel",),
        (_rows("data/parallel_hardware.toml", "unit source"),),
        complete=True,
        without=("parallel/code_mindspore.py", "parallel/code_torch.py", "parallel/programs"),
    ),
    "export": Area(
        ("export",),
        (_rows("data/atc.toml", "*"),),
        complete=True,
        without=_below("export/standin", "aclruntime.py atc.py bench modules pyacl stream"),
    ),
    "emulate": Area(
        ("emulate", "pytest_plugin.py", "pytest_fixtures.py", "pytest_suite.py", "start.py"),
        complete=True,
        without=(
            *_below("emulate", "companions hccn_tool.py inductor mindspore_ops smi torch_ops"),
            *_below("emulate/triton", "builder.py driver.py elementwise.py kernel.py language.py memory.py"),
        ),
    ),
    "selftest": Area(("selftest",), complete=True),
    "machine": Area(
        ("machine",),
        (
            _rows("data/installation.toml", "note"),
            _rows("data/environment.toml", "note"),
            _rows("data/npu_environment.toml", "what"),
        ),
        complete=True,
    ),
    "migrate": Area(("migrate",), (_rows("data/multicard.toml", "*"),), complete=True, without=("migrate/copied",)),
    "rows": Area(
        rows=(
            _rows("data/third_party.toml", "note fix"),
            _rows("data/torch_*.toml", "note fix"),
            _rows("data/mindspore_names.toml", "note fix"),
            _rows("data/packages.toml", "note"),
            _rows("data/settings.toml", "note"),
            _rows("data/tools.toml", "note"),
            _rows("data/causes.toml", "title todo"),
            _rows("migrate/passes/packs/*/rows.toml", "summary note fix"),
        ),
        complete=True,
    ),
    "explain": Area(complete=True),
    **{
        f"docs/{folder}": Area(pages=folder, complete=True) for folder in ("rules", "findings", "concepts", "reference")
    },
}


def texts() -> dict[str, list[str]]:
    """The templates of each area in the order of the sources; one that several areas have belongs to the first."""
    known = {text for name in BY_HAND if name != SITE for text in _entries(name)}
    of_pages = set(_entries(SITE))
    found: dict[str, list[str]] = {}
    for name, area in AREAS.items():
        before = of_pages if area.pages else known
        said = _of_pages(area.pages) if area.pages else _once(_said(name, area))
        found[name] = [text for text in dict.fromkeys(said) if text not in before]
        before.update(found[name])
    return found


def _once(texts: Iterator[str]) -> list[str]:
    """Without those that are there with a full stop too."""
    said = list(texts)
    sentences = set(said)
    return [text for text in said if f"{text}." not in sentences]


def _said(name: str, area: Area) -> Iterator[str]:
    return _help() if name == "help" else message_errors.texts() if name == "explain" else _of(area)


def _of(area: Area) -> Iterator[str]:
    for folder in area.folders:
        place = sources.SOURCES / folder
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            if path.relative_to(sources.SOURCES).as_posix().startswith(area.without or ("/",)):
                continue
            yield from (text.strip() if text.strip() else text for text, _ in sources.of_module(path))
    for pattern, fields in area.rows:
        for path in sorted(sources.SOURCES.glob(pattern)):
            content = tables.loads(path.read_bytes())
            yield from (text for text in sources.of_table(content, fields) if is_prose(text, program=False))


def _of_pages(folder: str) -> Iterator[str]:
    """What the pages of a folder say, except what is a message too and is translated only there."""
    own = _entries(f"docs/{folder}")
    areas = [name for name in (*BY_HAND, *AREAS) if not name.startswith("docs/")]
    messages = {text for name in areas for text in _entries(name) if " " in text}
    for path in sorted((DOCS / folder).rglob("*.md")):
        if path.name.endswith(TWIN) or path.with_suffix(TWIN).exists():
            continue
        for text in prose.said_by(path.read_text(encoding="utf-8")):
            if text not in messages or prose.numbered(text) in own:
                yield prose.numbered(text)


def _help() -> Iterator[str]:
    """What click prints of commands and options, paragraph by paragraph."""
    yield from (text for task, below in tasks.TASKS.items() for text in (task, *below.values()))
    yield from _commands()


def _commands() -> Iterator[str]:
    yield from _command(jumar)
    context = click.Context(jumar, info_name="jumar")
    for verb in VERBS:
        command = jumar.get_command(context, verb)
        assert command is not None
        yield from _command(command)
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                assert below is not None
                yield from _command(below)


def _command(command: click.Command) -> Iterator[str]:
    for block in re.split(r"\n\s*\n", inspect.cleandoc(command.help or "").partition("\f")[0]):
        if block.strip():
            yield " ".join(block.split())
    yield command.get_short_help_str(limit=1000).removesuffix(".")
    yield from (param.help for param in command.params if isinstance(param, click.Option) and param.help)


def _entries(area: str) -> dict[str, str]:
    path = CATALOGUE / f"{area}.po"
    return lang.entries(path.read_text(encoding="utf-8")) if path.exists() else {}


def problems() -> Iterator[str]:
    """What is wrong, one line each."""
    found = texts()
    for name, area in AREAS.items():
        have = _entries(name)
        if area.complete:
            yield from (f"{name}.po: not translated: {text!r}" for text in found[name] if text not in have)
        yield from (f"{name}.po: no source says this any more: {text!r}" for text in have if text not in found[name])
    for name in (*BY_HAND, *AREAS):
        yield from (f"{name}.po: twice: {text!r}" for text in _twice(name))
        for english, chinese in _entries(name).items():
            judge = _faults_of_block if name.startswith("docs/") else _faults
            yield from (f"{name}.po: {why}: {english!r}" for why in judge(english, chinese))


def _twice(area: str) -> list[str]:
    """Entries that a merge of two branches has left more than once."""
    path = CATALOGUE / f"{area}.po"
    found = Counter(re.findall(r'^msgid "(.+)"$', path.read_text(encoding="utf-8"), re.M) if path.exists() else ())
    return [text for text, count in found.items() if count > 1]


def _faults(english: str, chinese: str) -> Iterator[str]:
    if set(lang.PLACE.findall(chinese)) - set(lang.PLACE.findall(english)):
        yield "a place that the English text does not have"
    code = {text for text in re.findall(r"`[^`]+`", english) if "{" not in text and text not in chinese}
    if code:
        yield f"{', '.join(sorted(code))} is missing"
    yield from (f"says {word}, which the glossary avoids" for word in AVOID if word in chinese)


def _faults_of_block(english: str, chinese: str) -> Iterator[str]:
    """A block of a page also keeps its numbers and where its links lead."""
    yield from _faults(english, chinese)
    for what, pattern in (("number", r"\{\d+\}"), ("link", r"\]\(([^)]+)\)")):
        if lost := set(re.findall(pattern, english)) ^ set(re.findall(pattern, chinese)):
            yield f"another {what} than in English: {', '.join(sorted(lost))}"


def update() -> None:
    """Write the files anew: what the sources still say, in their order."""
    for name, said in texts().items():
        have = _entries(name)
        blocks = [_block(text, have[text]) for text in said if text in have]
        (CATALOGUE / f"{name}.po").write_text("\n".join([HEAD, *blocks]), encoding="utf-8")


def _block(english: str, chinese: str = "") -> str:
    return f'msgid "{_quoted(english)}"\nmsgstr "{_quoted(chinese)}"\n'


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--missing", choices=AREAS, metavar="AREA")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    if asked.missing:
        have = _entries(asked.missing)
        print("\n".join(_block(text) for text in texts()[asked.missing] if text not in have))
        return 0
    if asked.update:
        update()
    if asked.check:
        found = list(problems())
        print("\n".join(found), end="\n" if found else "", file=sys.stderr)
        return 1 if found else 0
    for name, said in texts().items():
        have = _entries(name)
        print(f"{name:9} {sum(text in have for text in said):5} of {len(said):5}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
