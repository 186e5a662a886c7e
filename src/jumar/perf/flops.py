"""How much of the card's peak a program uses: operations of products, convolutions and attention over the whole time.

Counted from the shapes of the host's operators, innermost ones only.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from jumar.perf.convolutions import Convolutions
from jumar.perf.facts import Facts
from jumar.perf.result import Use
from jumar.perf.roofline import Shape, Tensor, card, operations
from jumar.tables.load import table

_NAMES = re.compile(
    r"(?:aten|npu)::_?(mm|addmm|bmm|baddbmm|addbmm|int_mm|matmul|linear|npu_fusion_attention\w*|scaled_dot_product_\w*attention\w*)"
)
_CONVOLUTION = re.compile(r"(?:aten|npu)::\w*conv(?:\dd|olution|_)")
_LISTS = re.compile(r"\[([\d, ]*)\]")


def use(facts: Facts) -> Use | None:
    """None where no product with its shapes is in the profile."""
    host, parents = facts.profile.host, facts.parents
    shapes = [_shapes(op.shapes) if op.shapes else [] for op in host]
    convolutions = Convolutions(host, parents, shapes)
    around: set[int] = set()
    work: dict[int, float] = {}
    for index in range(len(host) - 1, -1, -1):
        if index in around:
            continue
        match = _NAMES.fullmatch(host[index].name)
        amount = _operations(match[1], shapes[index]) if match else convolutions.work(index)
        if amount:
            work[index] = amount
            around.update(_above(parents, index))
    total = sum(work.values())
    if not total or not facts.split.total:
        return None
    rate = total / facts.split.total / 1e6
    peak = _peak(facts.profile.chip)
    partial = any(_CONVOLUTION.match(op.name) and index not in around and not _inside(parents, index, work)
                  for index, op in enumerate(host))  # fmt: skip
    return Use(total, rate, peak, rate / peak if peak else None, partial)


def _above(parents: list[int], index: int) -> Iterator[int]:
    """The operators around one."""
    while (index := parents[index]) >= 0:
        yield index


def _inside(parents: list[int], index: int, counted: Container[int]) -> bool:
    """Whether an operator, or one around it, is counted."""
    return index in counted or any(one in counted for one in _above(parents, index))


def _peak(chip: str) -> float | None:
    """TFLOPS in float16 of a chip that is known."""
    if chip not in table("emulated_socs.json")["socs"]:
        return None
    found = card(chip)
    return found.peak / 1e6


def _operations(name: str, given: list[Shape]) -> float:
    shapes = [shape for shape in given if len(shape) > 1]
    if len(shapes) < 2:
        return 0.0
    tensors = [Tensor(shape, "float16") for shape in shapes]
    if "attention" in name:
        return operations(name, tensors, [])
    left, right = shapes[-2], shapes[-1]
    if name == "linear":
        left, right = shapes[0], shapes[1][::-1]
    output = (*left[:-1], right[-1])
    return operations("mm", [Tensor(left, "float16"), Tensor(right, "float16")], [Tensor(output, "float16")])


def _shapes(text: str) -> list[Shape]:
    """`2,8;8,3` as torch_npu writes them, `[[2, 8], [8, 3]]` as torch does."""
    parts = _LISTS.findall(text[1:-1]) if text.startswith("[") else text.strip('"').split(";")
    found = []
    for part in parts:
        numbers = [word.strip() for word in part.split(",") if word.strip()]
        found.append(tuple(map(int, numbers)) if all(map(str.isdecimal, numbers)) else ())
    return found
