"""64-bit integers that are computed with: they run on slow units or are cast.

Which units is a judgement from the vendor's profiles, where AI CPU tasks are mostly casts and 64-bit integers.
"""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Level
from jumar.export.check import Check, Subject, by_operator, named, own

CHECK = Check("EX108", "wide-integer", "inputs and computation use no 64-bit integers")
SHAPES = {"Cast", "Concat", "Constant", "ConstantOfShape", "Expand", "Flatten", "Gather", "Identity", "Reshape",
          "Shape", "Size", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"}  # fmt: skip
"""Operators that only move integers about or make shapes of them."""
WIDE = ("INT64", "UINT64")


def run(subject: Subject) -> Iterator[Finding]:
    for name, type_ in subject.view.inputs:
        if type_.element in WIDE:
            message = f"input `{name}` is {type_.element}"
            fix = "feed INT32 and cast inside the model where the caller can; else keep it, ATC takes it"
            yield subject.finding(CHECK, Level.NOTE, message, fix, name)
    types = subject.view.types
    nodes = [
        node
        for node in own(subject.view)
        if node.proto.op_type not in SHAPES
        and any(types[output].element in WIDE for output in node.proto.output if output in types)
    ]
    for operator, same in by_operator(nodes).items():
        message = f"`{operator}` computes with 64-bit integers ({named(same)})"
        fix = "cast to INT32 before it where the values allow: 64-bit integers are computed off the AI cores"
        yield subject.finding(CHECK, Level.NOTE, message, fix, operator)
