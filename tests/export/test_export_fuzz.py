"""Broken files end in one message: truncated, bit-flipped, huge tensors declared; no traceback, no hang, no flood."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from onnx_models import graph_model, node, onnx, tiny, value, weight

Jumar = Callable[..., Any]
Save = Callable[..., Path]


def rich() -> bytes:
    """A model with a bit of everything."""
    then = onnx.helper.make_graph([node("Identity", ["x"], ["t"])], "t", [], [value("t", [1, 3, 8, 8])])
    other = onnx.helper.make_graph([node("Neg", ["x"], ["e"])], "e", [], [value("e", [1, 3, 8, 8])])
    model = tiny()
    model.graph.node.extend(
        [
            node("If", ["c"], ["i"], then_branch=then, else_branch=other),
            node("Constant", [], ["k"], value=weight("k", [2.0])),
            node("Mul", ["i", "k"], ["m"]),
            node("Reshape", ["m", "shape"], ["z"]),
        ]
    )
    model.graph.input.append(value("c", [1], "BOOL"))
    model.graph.output.append(value("z", [3, 64]))
    model.graph.initializer.append(onnx.helper.make_tensor("shape", onnx.TensorProto.INT64, [2], [3, 64]))
    data: bytes = model.SerializeToString()
    return data


def broken() -> list[tuple[str, bytes]]:
    source, data = random.Random(8), rich()
    cases = [(f"cut {at}", data[:at]) for at in sorted(source.sample(range(len(data)), 40))]
    for number in range(120):
        flipped = bytearray(data)
        for _ in range(source.choice((1, 1, 2, 8, 40))):
            flipped[source.randrange(len(flipped))] ^= 1 << source.randrange(8)
        cases.append((f"flip {number}", bytes(flipped)))
    cases += [(f"noise {number}", source.randbytes(400)) for number in range(10)]
    return cases


@pytest.mark.parametrize("verb", ["check", "run", "command"])
def test_broken_models(jumar: Jumar, tmp_path: Path, verb: str) -> None:
    path = tmp_path / "broken.onnx"
    words = {"check": [], "run": ["--timeout", "5"], "command": ["--soc", "310P3"]}[verb]
    begin, memory = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name, data in broken():
        path.write_bytes(data)
        done = jumar("export", verb, path, *words)
        assert done.code in (0, 1, 2), name
        assert "Traceback" not in done.err and "unexpected" not in done.err, f"{name}: {done.err}"
        assert done.code != 2 or done.err.startswith("error: "), name
    assert time.process_time() - begin < 120
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024 < 1500


def test_broken_stand_ins(jumar: Jumar, save: Save, tmp_path: Path) -> None:
    assert jumar("export", "om", save(tiny()), "--soc", "310P3", "-o", tmp_path / "net").code == 0
    data, source = (tmp_path / "net.om").read_bytes(), random.Random(9)
    for number in range(60):
        flipped = bytearray(data[: source.randrange(1, len(data))] if number % 3 == 0 else data)
        flipped[source.randrange(len(flipped))] ^= 1 << source.randrange(8)
        (tmp_path / "net.om").write_bytes(bytes(flipped))
        done = jumar("export", "run", tmp_path / "net.om", "--timeout", "5")
        assert done.code in (0, 1, 2) and "unexpected" not in done.err and "Traceback" not in done.err, done.err


def huge() -> list[tuple[str, Any]]:
    declared = tiny()
    declared.graph.initializer[0].dims[:] = [2**40, 3, 3, 3]
    shape = onnx.helper.make_tensor("s", onnx.TensorProto.INT64, [2], [2**20, 2**20])
    grown = graph_model([node("ConstantOfShape", ["s"], ["k"]), node("Add", ["x", "k"], ["y"])], [value("x", [1])],
                        [value("y", [2**20, 2**20])], [shape])  # fmt: skip
    return [
        ("tensor", declared),
        ("input", graph_model([node("Relu", ["x"], ["y"])], [value("x", [2**40])], [value("y", [2**40])])),
        ("grown", grown),
        ("negative", graph_model([node("Relu", ["x"], ["y"])], [value("x", [-5, 2])], [value("y", [-5, 2])])),
    ]


@pytest.mark.parametrize(("name", "model"), huge(), ids=lambda one: one if isinstance(one, str) else "")
def test_huge_tensors_are_never_allocated(jumar: Jumar, save: Save, name: str, model: Any) -> None:
    path = save(model)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for words in (("check", path), ("run", path, "--timeout", "20"), ("command", path, "--soc", "310P3")):
        done = jumar("export", *words)
        assert "Traceback" not in done.err and "unexpected" not in done.err, done.err
        assert words[0] != "run" or name == "negative" or done.code == 2, done.out
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < 500
