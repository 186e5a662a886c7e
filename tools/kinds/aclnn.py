"""An operator call (aclnn): the row with its parameters, the kernel, and its test."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from generate_native import check_parameters
from kinds import Made, snake

HELP = "an operator call of libopapi.so"
EXAMPLE = "aclnnSwiGlu"
PATTERN = r"aclnn[A-Z]\w*"
NEXT = (
    "fill kernel and test in, `make .venv/jumar`, `pytest tests/emulate -k test_aclnn`, `python tools/generate.py`, "
    "a line in CHANGELOG.md"
)
# What the test hands over for a parameter of each type.
ARGUMENTS = {
    "In": "x",
    "Out": "out",
    "Number": "1.0",
    "Ints": "[0]",
    "Flags": "[True]",
    "Tensors": "[x]",
    "bool": "True",
}
LISTS = ("native/api/opapi.toml", "native/api/mindspore/opapi.toml")

KERNEL = """// Operator call (aclnn) for one sentence on what it computes; then the vendor's page with its version.
#include "aclnn/call.h"
#include "kernels/map.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;

// Parameters: {parameters}
OPERATOR({name}, throw Unsupported("TODO"))
"""
TEST = '''"""The operator call `{name}` against numpy."""

from __future__ import annotations

import numpy as np
from stand_ins import Library


def test_{snake}_computes_what_numpy_does(card: Library) -> None:
    x = np.linspace(-2, 2, 12, dtype="float32").reshape(3, 4)
    out = np.zeros_like(x)
    # {parameters}
    code = card.call("{name}", {arguments})
    assert (code, "TODO" in card.error()) == (100000, True)  # TODO: code 0, and `out` is what numpy computes
'''


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--parameters", default="In self, Out out", help="as the vendor's header orders them")


def make(given: argparse.Namespace, root: Path) -> Made:
    name, parameters = given.name, given.parameters
    try:
        check_parameters(name, parameters)
    except SystemExit as problem:
        raise ValueError(str(problem)) from problem
    texts = {root / path: (root / path).read_text(encoding="utf-8") for path in LISTS}
    if any(re.search(rf"^{name} = ", text, re.M) for text in texts.values()):
        raise ValueError(f"`{name}` works already")
    path = next((path for path, text in texts.items() if f'"{name}",' in text), root / LISTS[0])
    fields = {"name": name, "snake": snake(name), "parameters": parameters}
    kinds = [parameter.split(" ")[0] for parameter in parameters.split(", ")]
    fields["arguments"] = ", ".join(ARGUMENTS.get(kind, "1") for kind in kinds)
    return Made(
        {
            root / f"native/aclnn/{snake(name.removeprefix('aclnn'))}.cpp": KERNEL.format(**fields),
            root / f"tests/emulate/test_{snake(name)}.py": TEST.format(**fields),
        },
        {path: insert(texts[path], f'{name} = "{parameters}"')},
    )


def insert(text: str, row: str) -> str:
    """The rows under [works] are sorted."""
    head, mark, tail = text.partition("[works]\n")
    rows, gap, rest = tail.partition("\n\n")
    return head + mark + "\n".join(sorted([*rows.rstrip("\n").split("\n"), row])) + (gap + rest if gap else "\n")
