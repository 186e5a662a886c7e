"""How much of the card's peak a program uses: operations of matrix products and attention over the whole time.

Counted from the shapes of the host's operators, innermost ones only; convolutions are not counted, as profiles do not
have their strides.
"""

from __future__ import annotations

import re

from jumar.perf.facts import Facts
from jumar.perf.result import Use
from jumar.perf.roofline import Tensor, card, operations
from jumar.tables.load import table

_NAMES = re.compile(
    r"(?:aten|npu)::_?(mm|addmm|bmm|baddbmm|addbmm|int_mm|matmul|linear|npu_fusion_attention\w*|scaled_dot_product_\w*attention\w*)"
)
_LISTS = re.compile(r"\[([\d, ]*)\]")


def use(facts: Facts) -> Use | None:
    """None where no product with its shapes is in the profile."""
    host, parents = facts.profile.host, facts.parents
    around: set[int] = set()
    work: dict[int, float] = {}
    for index in range(len(host) - 1, -1, -1):
        match = _NAMES.fullmatch(host[index].name)
        if not match or index in around:
            continue
        amount = _operations(match[1], host[index].shapes)
        if amount:
            work[index] = amount
            parent = parents[index]
            while parent >= 0:
                around.add(parent)
                parent = parents[parent]
    total = sum(work.values())
    if not total or not facts.split.total:
        return None
    rate = total / facts.split.total / 1e6
    peak = _peak(facts.profile.chip)
    partial = any("conv" in op.name for op in host if op.name.startswith("aten::"))
    return Use(total, rate, peak, rate / peak if peak else None, partial)


def _peak(chip: str) -> float | None:
    """TFLOPS in float16 of a chip that is known."""
    if chip not in table("emulated_socs.json")["socs"]:
        return None
    found = card(chip)
    return float(found.cube / found.model["efficiency"] / 1e6)


def _operations(name: str, text: str) -> float:
    shapes = [shape for shape in _shapes(text) if len(shape) > 1]
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


def _shapes(text: str) -> list[tuple[int, ...]]:
    """`2,8;8,3` as torch_npu writes them, `[[2, 8], [8, 3]]` as torch does."""
    parts = _LISTS.findall(text[1:-1]) if text.startswith("[") else text.strip('"').split(";")
    found = []
    for part in parts:
        numbers = [word.strip() for word in part.split(",") if word.strip()]
        found.append(tuple(map(int, numbers)) if all(map(str.isdecimal, numbers)) else ())
    return found
