"""The plan of a migration for the person who decides, and the baseline that keeps known findings from failing CI."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from jumar.core import read
from jumar.core.errors import UserError

if TYPE_CHECKING:
    from jumar.migrate.result import ProjectResult
    from jumar.migrate.roadmap.baseline import Checked
    from jumar.migrate.roadmap.result import Roadmap

SUFFIXES = (".md", ".html", ".htm", ".json")


def roadmap(result: ProjectResult, paths: tuple[str, ...] = ()) -> Roadmap:
    """Group the findings by cause; the project's Python files are read to see who imports whom."""
    from jumar.migrate import walk
    from jumar.migrate.roadmap import build
    from jumar.migrate.rule import all_rules

    texts = {
        os.path.relpath(text.path, result.root): text.raw
        for text in walk.texts(Path(path) for path in paths)
        if text.path.endswith(".py")
    }
    summaries = {unit.rule.id: unit.rule.summary for unit in all_rules()}
    return build.roadmap(result, texts, summaries)


def check_name(path: Path) -> str:
    """The suffix of a plan's file, if it is one that a plan can have."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UserError(f"no form of a plan is known for `{path.name}`", "end its name in `.md`, `.html` or `.json`")
    return suffix


def render(plan: Roadmap, path: Path) -> bytes:
    """The plan as the file's suffix says."""
    from jumar.report import roadmap as report

    suffix = check_name(path)
    if suffix == ".json":
        from jumar.report import json

        return (json.text(json.document(report.fields(plan))) + "\n").encode()
    if suffix == ".md":
        return report.markdown(plan).encode()
    from jumar.report.pages import roadmap as page

    return page.page(report.fields(plan)).html().encode()


def check(result: ProjectResult, path: Path) -> Checked:
    """Compare with the baseline in a file."""
    from jumar.migrate.roadmap import baseline

    raw = read.content(path, f"write it first: `jumar analyze . --write-baseline {path}`")
    return baseline.check(result, baseline.parse(raw.decode("utf-8", "replace"), str(path)))


def baseline_text(result: ProjectResult) -> bytes:
    """The content of a baseline that knows everything that was found."""
    from jumar.migrate.roadmap import baseline

    return baseline.render(result).encode()
