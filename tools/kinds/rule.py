"""A migration rule and its page, which is also its test."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from kinds import Made, snake

HELP = "a migration rule"
EXAMPLE = "cuda-device-string"
PATTERN = r"[a-z][a-z0-9]*(-[a-z0-9]+)*"
NEXT = "fill both files in, `pytest tests/migrate`, `python tools/generate.py`, a line in CHANGELOG.md"
PREFIXES = {"python": "PT", "shell": "SH", "config": "YM", "requirements": "RQ", "native": "CU"}
FENCES = {"python": "python", "shell": "shell", "config": "yaml", "requirements": "requirements", "native": "cuda"}

PYTHON_RULE = '''"""One sentence on what this finds and why; then the vendor's page with its version."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="{id}",
    name="{name}",
    summary="{words}",
    keywords=("cuda",),
    roots=("torch",),
)


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    if name != "torch.TODO":
        return
    yield file.report(RULE, node, State.HAND, f"`{{name}}` needs a look", "write what to do here", subject=name)
'''
OTHER_RULE = '''"""One sentence on what this finds and why; then the vendor's page with its version."""

from __future__ import annotations

from jumar.migrate.rule import Rule

RULE = Rule(
    id="{id}",
    name="{name}",
    summary="{words}",
    keywords=("cuda",),
)
'''
PAGE = """# {id} {name}

What it finds, why that does not work on an NPU, what is done about it, and where its limits are.

## The plain case

```{fence} unchanged
TODO
```

## A name that only looks alike

```{fence} unchanged
TODO
```
"""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--family", choices=sorted(PREFIXES), default="python")


def make(given: argparse.Namespace, root: Path) -> Made:
    family, name = given.family, given.name
    fields = {"id": next_id(family, root), "name": name, "words": name.replace("-", " "), "fence": FENCES[family]}
    code = PYTHON_RULE if family == "python" else OTHER_RULE
    return Made(
        {
            root / f"src/jumar/migrate/passes/torch/{family}/{snake(name)}.py": code.format(**fields),
            root / f"docs/rules/{family}/{name}.md": PAGE.format(**fields),
        }
    )


def next_id(family: str, root: Path) -> str:
    """The first id behind all that rules and the table of renamed ids use; from 900 on are the catch-all rules."""
    prefix = PREFIXES[family]
    texts = [path.read_text(encoding="utf-8") for path in (root / "src/jumar/migrate/passes").rglob("*.py")]
    texts.append((root / "src/jumar/data/renamed_ids.toml").read_text(encoding="utf-8"))
    used = [int(number) for text in texts for number in re.findall(rf"\b{prefix}(\d{{3}})\b", text)]
    return f"{prefix}{max((number for number in used if number < 900), default=100) + 1}"
