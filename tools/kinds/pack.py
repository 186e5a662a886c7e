"""A pack: what is known about one library, as rows with a page that is also their test."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from kinds import Made

HELP = "a pack of rows and rules for one library"
EXAMPLE = "deepspeed"
PATTERN = r"[a-z][a-z0-9]*(_[a-z0-9]+)*"
NEXT = "fill in rows and page, `pytest tests/migrate -k {name}`, `python tools/generate.py`, a line in CHANGELOG.md"

ROWS = """# What {name} does on NPUs, in a sentence or two.
# tool: kept by hand

id = "{id}"
name = "{page}"
summary = "what the rows find, in a few words"
packages = ["{name}"]

[sources.{name}]
url = "https://github.com/"
version = "the version that was read or run"
date = "2026-01-31"

[[names]]
name = "{name}.TODO"
state = "hand"
note = "why it does not work on an NPU"
fix = "what to write instead"
source = "{name}"
"""
PAGE = """# {id} {page}

What the rows find, why that does not work on an NPU, what is done about it, and where the limits are.

## The plain case

```python unchanged
import {name}

{name}.TODO()
```

```text findings
3 {id} needs a hand
```

## A name that only looks alike

```python unchanged
from mine import {name}

{name}.TODO()
```
"""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--page", help="the name of the rule that the rows are; default: NAME-on-npus")


def make(given: argparse.Namespace, root: Path) -> Made:
    name = given.name
    page = given.page or f"{name.replace('_', '-')}-on-npus"
    fields = {"id": next_id(root), "name": name, "page": page}
    folder = root / "src/jumar/migrate/passes/packs" / name
    return Made(
        {
            folder / "__init__.py": f'"""What is known about {name}."""\n',
            folder / "rows.toml": ROWS.format(**fields),
            root / f"docs/rules/{name}/{page}.md": PAGE.format(**fields),
        }
    )


def next_id(root: Path) -> str:
    """The first free ten: a pack's rows take its first id, its rules the others."""
    places = (root / "src/jumar/migrate/passes/packs").rglob("*.*")
    texts = [path.read_text(encoding="utf-8") for path in places if path.suffix in (".py", ".toml")]
    texts.append((root / "src/jumar/data/renamed_ids.toml").read_text(encoding="utf-8"))
    used = [int(number) for text in texts for number in re.findall(r"\bPK(\d{3})\b", text)]
    return f"PK{max(used, default=90) // 10 * 10 + 10}"
