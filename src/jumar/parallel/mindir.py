"""Reads the operators of a MindSpore network from the text of its compiled graph (`*_validate_*.ir`, 2.10)."""

from __future__ import annotations

import re
from typing import Any

WIDTHS = {
    "Float32": 4,
    "Float16": 2,
    "BFloat16": 2,
    "Int32": 4,
    "Int64": 8,
    "Bool": 1,
    "Float64": 8,
    "Int8": 1,
    "UInt8": 1,
}
PARAMETER = re.compile(r"^%para(\d+)_([^:]+): <(Ref\[)?Tensor\[(\w+)\]\]?, \(([\d, ]*)\)", re.M)
NODE = re.compile(r"^  %(\d+)\(.*?\) = (\w+)(?:\[.*?\])?\((.*)$")
TENSOR = re.compile(r"<(?:Ref\[)?Tensor\[(\w+)\]\]?, \(([\d, ]*)\)")
TUPLE = re.compile(r"<Tuple\[(.*?)\], TupleShape\(((?:\([\d, ]*\)(?:, )?)+)\)")
BLOCK = re.compile(r"(?:^|(.*)\.)(\d+)\.")
REFERENCE = re.compile(r"%(?:para(\d+)_[\w.\-]*|(\d+))")


def read(text: str) -> dict[str, Any]:
    """The same shape as what the probe writes for PyTorch: operators, weights, inputs."""
    weights: dict[str, int] = {}
    known: dict[str, tuple[str, Any]] = {}
    kinds: dict[str, int] = {}
    count = 0
    for number, name, reference, kind, shape in PARAMETER.findall(text):
        if reference:
            weights[name] = _elements(shape)
            kinds[kind] = kinds.get(kind, 0) + weights[name]
            known[f"p{number}"] = ("weight", name)
        else:
            known[f"p{number}"] = ("value", count)
            count += 1
    inputs = count
    ops: list[dict[str, Any]] = []
    for number, kind, rest, out in _nodes(text):
        refs = [known[key] for key in _references(rest) if key in known]
        shapes = _sizes(out)
        if (
            kind in ("Load", "Depend", "MakeTuple", "TupleGetItem", "Return", "return", "UpdateState", "StopGradient")
            or not shapes
        ):
            if refs:
                known[number] = refs[0]
            continue
        if kind in ("Cast", "Transpose", "Reshape") and refs and all(what == "weight" for what, _ in refs):
            known[number] = refs[0]
            continue
        row: dict[str, Any] = {
            "kind": kind, "inputs": [index for what, index in refs if what == "value"],
            "weights": [index for what, index in refs if what == "weight"],
            "outputs": [], "block": None, "flops": _flops(kind, rest, out),
        }  # fmt: skip
        for size in shapes:
            row["outputs"].append([count, size])
            count += 1
        known[number] = ("value", row["outputs"][0][0])
        ops.append(row)
    most = max(kinds, key=lambda kind: kinds[kind], default="Float32")
    dtype = {"Float32": "float32", "Float16": "float16", "BFloat16": "bfloat16"}.get(most, "float32")
    _number_blocks(ops, weights)
    return {"ops": ops, "weights": weights, "inputs": inputs, "dtype": dtype}


def _nodes(text: str) -> list[tuple[str, str, str, str]]:
    """Number, operator, arguments and types of each node of the largest graph."""
    graphs = re.split(r"^subgraph @", text, flags=re.M)
    body = max(graphs[1:], key=len, default="")
    rows: list[tuple[str, str, str, str]] = []
    now: list[str] | None = None
    for line in body.splitlines():
        match = NODE.match(line)
        if match:
            if now:
                rows.append(tuple(now))  # type: ignore[arg-type]
            now = [match[1], match[2].removeprefix("PrimFunc_"), match[3], ""]
        elif now and line.startswith("      : ") and not now[3]:
            now[3] = line.rpartition("->")[2]
            now[2] += line.partition("->")[0]
    if now:
        rows.append(tuple(now))  # type: ignore[arg-type]
    return rows


def _references(rest: str) -> list[str]:
    return [f"p{para}" if para else node for para, node in REFERENCE.findall(rest.partition(" cnode_attrs")[0])]


def _elements(shape: str) -> int:
    total = 1
    for part in shape.replace(" ", "").split(","):
        if part:
            total *= int(part)
    return total


def _sizes(out: str) -> list[int]:
    """Bytes of each tensor that a node makes."""
    found = TUPLE.search(out)
    if found:
        kind = re.search(r"Tensor\[(\w+)\]", found[1])
        width = WIDTHS.get(kind[1], 4) if kind else 4
        return [_elements(shape) * width for shape in re.findall(r"\(([\d, ]*)\)", found[2])] or []
    return [_elements(shape) * WIDTHS.get(kind, 4) for kind, shape in TENSOR.findall(out)[:1]]


def _flops(kind: str, rest: str, out: str) -> int:
    shapes = [[int(n) for n in shape.replace(" ", "").split(",") if n] for _, shape in TENSOR.findall(rest)]
    made = [[int(n) for n in shape.replace(" ", "").split(",") if n] for _, shape in TENSOR.findall(out)]
    if not made or len(shapes) < 2:
        return 0
    size = 1
    for number in made[0]:
        size *= number
    if kind in ("MatMul", "BatchMatMul", "Dense", "MatMulExt", "BatchMatMulExt"):
        inner = [number for number in shapes[0][-2:] if number in shapes[1]]
        return 2 * size * (inner[-1] if inner else shapes[0][-1])
    if kind.startswith("Conv2D") and len(shapes[1]) == 4:
        return 2 * size * shapes[1][1] * shapes[1][2] * shapes[1][3]
    return 0


def _number_blocks(ops: list[dict[str, Any]], weights: dict[str, int]) -> None:
    """Give each operator the number of its layer, from the names of the weights (`blocks.3.norm.gamma`).

    Scopes are no help: operators of one line of code carry the scope of the first layer. Operators without a weight
    belong to the layer before them; after the last layer to the end, as many as its forerunners have excepted.
    """
    lengths: dict[str, set[str]] = {}
    for name in weights:
        found = BLOCK.match(name)
        if found:
            lengths.setdefault(found[1] or "", set()).add(found[2])
    longest = max(lengths, key=lambda name: len(lengths[name]), default=None)
    if longest is None or len(lengths[longest]) < 2:
        return
    places: list[tuple[int, int]] = []
    for place, row in enumerate(ops):
        for name in row["weights"]:
            found = BLOCK.match(name)
            if found and (found[1] or "") == longest:
                places.append((place, int(found[2])))
    now: int | None = None
    marks = dict(places)
    for place, row in enumerate(ops):
        now = marks.get(place, now)
        row["block"] = now
    last = max(number for _, number in places)
    before = [place for place, number in places if number == last - 1]
    start = min(place for place, number in places if number == last)
    trailing = start - max(before) - 1 if before else 0
    for place in range(max(place for place, _ in places) + trailing + 1, len(ops)):
        ops[place]["block"] = -1
