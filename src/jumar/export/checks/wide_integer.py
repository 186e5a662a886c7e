"""64-bit integers that are computed with: they run on slow units or are cast.

Which units is a judgement from the vendor's profiles, where AI CPU tasks are mostly casts and 64-bit integers.
"""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Level
from jumar.export.check import Check, Subject, by_operator, named, own
from jumar.export.graph import Type

CHECK = Check("EX108", "wide-integer", "inputs and computation use no 64-bit integers")
SHAPES = {"Cast", "Concat", "Constant", "ConstantOfShape", "Expand", "Flatten", "Gather", "Identity", "Reshape",
          "Shape", "Size", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"}  # fmt: skip
"""Operators that only move integers about or make shapes of them."""
WIDE = ("INT64", "UINT64")
MOST = 8
"""As many elements as the shape of a value may have: arithmetic on shapes is folded away."""


def run(subject: Subject) -> Iterator[Finding]:
    for name, type_ in subject.view.inputs:
        if type_.element in WIDE:
            message = f"input `{name}` is {type_.element}"
            fix = "feed INT32 and cast inside the model if the caller can; otherwise keep it, ATC accepts it"
            yield subject.finding(CHECK, Level.NOTE, message, fix, name)
    types = subject.view.types
    nodes = [
        node
        for node in own(subject.view)
        if node.proto.op_type not in SHAPES
        and any(_is_data(types[output]) for output in node.proto.output if output in types)
    ]
    for operator, same in by_operator(nodes).items():
        message = f"`{operator}` computes with 64-bit integers ({named(same)})"
        fix = "cast to INT32 before it if the values allow: 64-bit integers run outside the AI cores"
        yield subject.finding(CHECK, Level.NOTE, message, fix, operator)


def _is_data(type_: Type) -> bool:
    """A wide integer with more elements than a shape has."""
    if type_.element not in WIDE or not type_.shape:
        return False
    return len(type_.shape) > 1 or not isinstance(type_.shape[0], int) or type_.shape[0] > MOST
