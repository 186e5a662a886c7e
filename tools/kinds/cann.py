"""A function of a CANN library: its row says that it works, its body, and a test program in C++."""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path

from kinds import Made, snake
from native_types import lower, natives, read_headers

HELP = "a function of a CANN library"
EXAMPLE = "aclrtGetDeviceUtilizationRate"
PATTERN = r"[A-Za-z]\w*"
NEXT = (
    "fill body and test in, `make .venv/jumar`, `pytest tests/emulate/test_native.py -m slow`, "
    "`python tools/generate.py`, a line in CHANGELOG.md"
)

BODY = """// {name}: one sentence on what it does; then the vendor's page with its version.
#include "api.h"
#include "machine/error.h"

using namespace jumar;

{returns} {name}({arguments}) {{
  return fail({code}, "{name}: TODO");
}}
"""
TEST = """// {name}: what it says, and what it does with arguments that are wrong.
#include "api.h"
#include "machine/codes.h"
#include "tests/check.h"

using namespace jumar;

int main() {{
  CHECK({name}({nothing}) == {code});  // TODO: what it does with good arguments
  return 0;
}}
"""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--library", required=True, help="as its list under native/api is called: ascendcl, hccl")
    parser.add_argument("--arguments", default="", help='as the vendor\'s header has them: "int32_t device, void *out"')


def make(given: argparse.Namespace, root: Path) -> Made:
    name = given.name
    path = root / f"native/api/{given.library}.toml"
    if not path.exists():
        known = sorted(list_.stem for list_ in path.parent.glob("*.toml") if list_.stem != "libraries")
        raise ValueError(f"no list of a library `{given.library}`; there are {', '.join(known)}")
    text = path.read_text(encoding="utf-8")
    table = tomllib.loads(text)
    row = table.get("functions", {}).get(name, {"use": "by name"})
    if row.get("state") == "works":
        raise ValueError(f"`{name}` works already")
    arguments = given.arguments or row.get("args", "")
    known_types = natives(read_headers())
    inside = lower(arguments, known_types)
    fields = {
        "name": name,
        "arguments": inside,
        "returns": lower(row.get("returns", "int32_t"), known_types),
        "code": row.get("refusal", table["refusal"]),
        "nothing": ", ".join(map(_nothing, filter(None, inside.split(", ")))),
    }
    folder = given.library if (root / "native" / given.library).is_dir() else "acl"
    return Made(
        {
            root / f"native/{folder}/{snake(name)}.cpp": BODY.format(**fields),
            root / f"native/tests/{snake(name)}_test.cpp": TEST.format(**fields),
        },
        {path: insert(text, name, _row({**row, "args": arguments, "state": "works"}))},
    )


def insert(text: str, name: str, row: str) -> str:
    """In the place of the old row, or where the sorted rows under [functions] have room for it."""
    if re.search(rf"^{name} = .*$", text, re.M):
        return re.sub(rf"^{name} = .*$", f"{name} = {row}", text, flags=re.M)
    head, mark, tail = text.partition("[functions]\n")
    rows, gap, rest = tail.partition("\n\n")
    return head + mark + "\n".join(sorted([*rows.rstrip("\n").split("\n"), f"{name} = {row}"])) + (gap + rest or "\n")


def _row(row: dict[str, str]) -> str:
    order = ("args", "returns", "use", "state", "refusal")
    return "{ " + ", ".join(f'{key} = "{row[key]}"' for key in order if row.get(key)) + " }"


def _nothing(argument: str) -> str:
    return "nullptr" if "*" in argument else "0"
