"""Puts a plan together: causes, in which part of the project they are, in which order, with how much work."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence

from jumar.core.finding import Finding, State
from jumar.migrate.result import ProjectResult
from jumar.migrate.roadmap import areas, effort
from jumar.migrate.roadmap.causes import Cause, causes
from jumar.migrate.roadmap.result import Area, Group, Kind, Roadmap

_EXAMPLES = 3


def roadmap(result: ProjectResult, texts: Mapping[str, bytes], summaries: dict[str, str]) -> Roadmap:
    """The plan; `texts` are the Python files by path from the root, `summaries` says what each rule finds."""
    found = [item for item in result.findings() if item.state not in (None, State.BENIGN)]
    paths = {_relative(item, result.root) for item in found}
    parts = areas.areas(texts, paths)
    groups = [
        _group(cause, items, result.root, parts) for cause, items in causes(found, summaries, result.root).items()
    ]
    groups.sort(key=_order)
    changed = sum(file.changed for file in result.files)
    unknown = tuple(_unknown(result, groups))
    return Roadmap(result.root, tuple(groups), result.scanned, result.lines, changed, unknown, effort.basis())


def _group(cause: Cause, items: Sequence[Finding], root: str, parts: Mapping[str, Area]) -> Group:
    where = [_relative(item, root) for item in items]
    by_area = Counter(parts.get(path, Area.PRODUCT) for path in where)
    ordered = sorted(by_area.items(), key=lambda row: (-row[1], list(Area).index(row[0])))
    first = sorted(items, key=lambda item: list(Area).index(parts.get(_relative(item, root), Area.PRODUCT)))
    return Group(
        cause.title,
        cause.kind,
        len(items),
        len(set(where)),
        tuple(ordered),
        effort.of(cause.work, len(items)),
        cause.todo,
        all(item.state is State.REWRITTEN for item in items),
        tuple(sorted({item.id for item in items})),
        tuple(dict.fromkeys(_place(item, root) for item in first))[:_EXAMPLES],
    )


def _order(group: Group) -> tuple[bool, int, int, int, str]:
    """What a person has to do comes first: by kind, the product before the rest, the most places first."""
    in_product = dict(group.areas).get(Area.PRODUCT, 0) > 0
    return group.is_made, list(Kind).index(group.kind), 0 if in_product else 1, -group.places, group.cause


def _unknown(result: ProjectResult, groups: Sequence[Group]) -> list[str]:
    said = []
    unclear = [group for group in groups if group.kind is Kind.UNCLEAR]
    if unclear:
        places = sum(group.places for group in unclear)
        some = "1 place" if places == 1 else f"{places:,} places"
        said.append(f"{some} may or may not depend on CUDA: somebody who knows the code has to look.")
    if any(group.effort is None for group in groups):
        said.append(
            "CUDA kernels are counted, not estimated: one may be a single call on an NPU, another a month of work in"
            " Ascend C. They come on top of the hours."
        )
    if result.skipped:
        said.append(f"{len(result.skipped)} paths were left out and may hold more.")
    said.append(
        "Speed and numerical agreement on a real NPU: only a run on one shows them (`jumar compare`, `jumar perf`)."
    )
    said.append(
        "Whether the program runs at all after the change: `jumar migrate --verify` answers that without hardware."
    )
    return said


def _relative(item: Finding, root: str) -> str:
    return os.path.relpath(item.where.path, root) if item.where is not None else ""


def _place(item: Finding, root: str) -> str:
    line = item.where.line if item.where is not None else 0
    return f"{_relative(item, root)}:{line}" if line else _relative(item, root)
