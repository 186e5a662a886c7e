"""SARIF 2.1.0, which code review tools read.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html; offsets count code points without the BOM.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jumar import __version__
from jumar.core.edit import Edit
from jumar.core.finding import Finding, Where
from jumar.core.printable import in_json
from jumar.tables.pages import address

if TYPE_CHECKING:
    from jumar.migrate.result import FileResult, ProjectResult
    from jumar.migrate.rule import Unit
    from jumar.tables.pages import Page

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(result: ProjectResult, rules: Mapping[str, Unit], pages: Mapping[str, Page]) -> str:
    """One run with every finding; a fix holds the exact replacements where they are known."""
    ids = sorted({item.id for item in result.findings()})
    index = {id_: number for number, id_ in enumerate(ids)}
    run = {
        "tool": {
            "driver": {
                "name": "jumar",
                "semanticVersion": __version__,
                "rules": [_rule(id_, rules, pages) for id_ in ids],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True}],
        "results": [entry for file in result.files for entry in _results(file, index)],
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return in_json(json.dumps(document, indent=1, ensure_ascii=False))


def _rule(id_: str, rules: Mapping[str, Unit], pages: Mapping[str, Page]) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": id_}
    if id_ in rules:
        fields["name"] = rules[id_].rule.name
        fields["shortDescription"] = {"text": rules[id_].rule.summary}
    if id_ in pages:
        fields["name"] = pages[id_].name
        fields["helpUri"] = address(id_)
        fields["help"] = {"text": pages[id_].text, "markdown": pages[id_].text}
    return fields


def _results(file: FileResult, index: Mapping[str, int]) -> Iterable[dict[str, Any]]:
    exact = file.exact_edits()
    for item in file.findings:
        message = f"{item.message}\n{item.fix}" if item.fix else item.message
        entry: dict[str, Any] = {
            "ruleId": item.id,
            "ruleIndex": index[item.id],
            "level": item.level.value,
            "message": {"text": message},
            "locations": [_location(item.where or Where(file.path))],
        }
        if item.state is not None:
            entry["properties"] = {"state": item.state.value, "safety": item.safety.value}
        edits = exact.get(id(item))
        if edits:
            entry["fixes"] = [_fix(item, edits, file.path)]
        yield entry


def _location(where: Where) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(where.path)}}
    if where.line:
        region = {"startLine": where.line, "startColumn": max(where.col, 1)}
        if where.end_line:
            region |= {"endLine": where.end_line, "endColumn": max(where.end_col, 1)}
        place["region"] = region
    return {"physicalLocation": place}


def _fix(item: Finding, edits: tuple[Edit, ...], path: str) -> dict[str, Any]:
    replacements = [
        {
            "deletedRegion": {"charOffset": edit.start, "charLength": edit.end - edit.start},
            "insertedContent": {"text": edit.new.decode("utf-8")},
        }
        for edit in edits
    ]
    change = {"artifactLocation": {"uri": _uri(path)}, "replacements": replacements}
    return {"description": {"text": item.message}, "artifactChanges": [change]}


def _uri(path: str) -> str:
    return f"file://{quote(path)}" if path.startswith("/") else quote(path)
