"""An NPU-only operator: its reference implementation and a test, with the parameters of torch_npu's schema."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from kinds import Made

HELP = "an operator of `torch.ops.npu`"
EXAMPLE = "npu_swiglu"
PATTERN = r"_?[a-z][a-z0-9_]*"
NEXT = (
    "fill both files in, `pytest tests/emulate -k test_npu_op`, `python tools/refresh_emulated_operators.py`, "
    "`python tools/generate.py`, a line in CHANGELOG.md; facts beyond the schema are a row in data/operators.toml"
)

# Asked of a process of its own: parameters, the type of the result, and arguments that make a call.
ASK = """
import sys
import torch, torch_npu

TYPES = {"Tensor": "Tensor", "int": "int", "float": "float", "bool": "bool", "str": "str"}
VALUES = {"Tensor": "x", "int": "1", "float": "1.0", "bool": "False", "str": "''"}
schema = torch._C._get_schema("npu::" + sys.argv[1], "")
parameters, call = [], []
for argument in schema.arguments:
    kind = str(argument.type)
    optional = kind.startswith("Optional[")
    plain = TYPES.get(kind.removeprefix("Optional[").removesuffix("]") if optional else kind, "Any")
    text = argument.name + ": " + plain + (" | None" if optional and plain != "Any" else "")
    if argument.kwarg_only and "*" not in parameters:
        parameters.append("*")
    if argument.has_default_value():
        text += " = " + repr(argument.default_value)
    else:
        call.append((argument.name + "=") * argument.kwarg_only + VALUES.get(plain, "[]"))
    parameters.append(text)
print(", ".join(parameters))
print("Tensor" if len(schema.returns) == 1 else "tuple[Tensor, ...]" if schema.returns else "None")
print(", ".join(call))
"""
OPERATOR = '''"""One sentence on this family of operators; then the vendor's page with its version."""

from __future__ import annotations

{imports}from torch import Tensor

from jumar.emulate.torch_ops.registry import not_emulated, operator


@operator()
def {name}({parameters}) -> {returns}:
    """The formula, as the vendor's page has it."""
    raise not_emulated("{name}", "with these arguments")
'''
TEST = '''"""The operator `npu::{name}` against its formula, on the emulated card."""

from __future__ import annotations

from running import Run


def test_{short}_follows_its_formula(run: Run) -> None:
    program = """
import torch, torch_npu
torch.manual_seed(0)
x = torch.randn(4, 8).npu()
try:
    torch.ops.npu.{name}({call})  # TODO: against the numbers that it must give
except NotImplementedError as refused:
    print(refused)
"""
    # TODO: this goes when the formula is there
    assert run(program).stdout.startswith("{name} with")
'''
_WIDTH = 120


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--family", help="the file under emulate/torch_ops: its family; the operator's name by default")


def make(given: argparse.Namespace, root: Path) -> Made:
    short = given.name.strip("_").removeprefix("npu_")
    parameters, returns, call = ask(given.name)
    if len(f"def {given.name}({parameters}) -> {returns}:") > _WIDTH:
        parameters = "\n" + "".join(f"    {part},\n" for part in parameters.split(", "))
    fields = {"name": given.name, "short": short, "parameters": parameters, "returns": returns, "call": call}
    fields["imports"] = "from typing import Any\n\n" if ": Any" in parameters else ""
    return Made(
        {
            root / f"src/jumar/emulate/torch_ops/{given.family or short}.py": OPERATOR.format(**fields),
            root / f"tests/emulate/test_npu_op_{short}.py": TEST.format(**fields),
        }
    )


def ask(name: str) -> tuple[str, str, str]:
    """What torch_npu's schema says; where it has no such operator, that is said."""
    done = subprocess.run(
        [sys.executable, "-c", ASK, name],
        env={**os.environ, "JUMAR_EMULATE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise ValueError(f"torch_npu has no operator `npu::{name}`: {said[-1] if said else 'it cannot be imported'}")
    parameters, returns, call = done.stdout.split("\n")[:3]
    return parameters, returns, call
