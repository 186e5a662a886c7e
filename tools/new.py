"""Writes the skeleton of a unit: `tools/new.py rule cuda-thing --family python` makes the rule and its page."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
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


def next_id(family: str, root: Path = ROOT) -> str:
    """The first id behind all that rules and the table of renamed ids use; from 900 on are the catch-all rules."""
    prefix = PREFIXES[family]
    texts = [path.read_text(encoding="utf-8") for path in (root / "src/jumar/migrate/passes").rglob("*.py")]
    texts.append((root / "src/jumar/data/renamed_ids.toml").read_text(encoding="utf-8"))
    used = [int(number) for text in texts for number in re.findall(rf"\b{prefix}(\d{{3}})\b", text)]
    return f"{prefix}{max((number for number in used if number < 900), default=100) + 1}"


def rule(name: str, family: str, root: Path = ROOT) -> dict[Path, str]:
    """The files of a new rule and what to write into them."""
    fields = {"id": next_id(family, root), "name": name, "words": name.replace("-", " "), "fence": FENCES[family]}
    code = PYTHON_RULE if family == "python" else OTHER_RULE
    return {
        root / f"src/jumar/migrate/passes/torch/{family}/{name.replace('-', '_')}.py": code.format(**fields),
        root / f"docs/rules/{family}/{name}.md": PAGE.format(**fields),
    }


def main(argv: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["rule"])
    parser.add_argument("name", help="what it finds, in lower-case words with hyphens: cuda-device-string")
    parser.add_argument("--family", choices=sorted(PREFIXES), default="python")
    given = parser.parse_args(argv)
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", given.name):
        parser.error(f"`{given.name}` is not of the form `cuda-device-string`")
    made = rule(given.name, given.family, root)
    for path in made:
        if path.exists():
            parser.error(f"`{path.relative_to(root)}` exists")
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(root)}")
    print("next: fill both files in, `pytest tests/migrate`, `python tools/generate.py`, a line in CHANGELOG.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
