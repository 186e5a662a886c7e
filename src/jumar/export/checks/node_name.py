"""Names of nodes: ATC's reports and its keep-dtype list go by them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jumar.core.finding import Finding, Level
from jumar.export.check import Check, Subject

CHECK = Check("EX114", "node-name", "every node has a unique name")


def run(subject: Subject) -> Iterator[Finding]:
    names = Counter(node.name for node in subject.view.model.graph.node)
    without = names.pop("", 0)
    twice = [name for name, count in names.items() if count > 1]
    if without or twice:
        parts = [f"{without} without"] if without else []
        parts += [f"{len(twice)} used twice (`{twice[0]}`)"] if twice else []
        fix = f"{subject.fixing} gives names"
        yield subject.finding(CHECK, Level.NOTE, f"names of nodes: {', '.join(parts)}", fix)
