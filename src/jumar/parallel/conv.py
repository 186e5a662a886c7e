"""Tapes of ResNet-50: convolution, batch norm, ReLU; a sample is one picture of 224 by 224.

Layer sizes: He and others, Deep Residual Learning for Image Recognition, table 1 (arXiv:1512.03385).
"""

from __future__ import annotations

from jumar.parallel.architecture import BYTES, Architecture
from jumar.parallel.tape import Layer, Tape

STAGES = ((3, 64, 56), (4, 128, 28), (6, 256, 14), (3, 512, 7))
"""Blocks, width and edge of the picture."""
CLASSES = 1000
FLOAT = 4


def parts(net: Architecture) -> tuple[Layer, ...]:
    c = BYTES[net.computed]
    start = Tape()
    start.value(3 * 224 * 224 * FLOAT)
    x = _unit(start, 0, "conv1", 3, 64, 7, 112, c)
    start.op("pool", (x,), 64 * 56 * 56 * c, keeps=(x,), own=True)
    layers = [Layer("start", start)]
    wide = 64
    for number, (blocks, width, edge) in enumerate(STAGES, 1):
        for index in range(blocks):
            first = index == 0
            before = edge * 2 if first and number > 1 else edge
            layers.append(Layer(f"layer{number}.{index}", _bottleneck(wide, width, before, edge, c, first)))
            wide = width * 4
    end = Tape()
    x = end.value(wide * 49 * c)
    y = end.op("pool", (x,), wide * c)
    weight = end.weight("fc", wide * CLASSES)
    y = end.op("matmul", (y,), CLASSES * FLOAT, keeps=(y,), weights=(weight,), flops=2 * wide * CLASSES)
    end.op("loss", (y,), 0, own=True, keeps=(y,))
    return (*layers, Layer("end", end))


def _unit(
    tape: Tape, x: int, name: str, inner: int, outer: int, kernel: int, edge: int, c: int, relu: bool = True
) -> int:
    size = outer * edge * edge * c
    weight = tape.weight(name, inner * outer * kernel * kernel)
    flops = 2 * inner * outer * kernel * kernel * edge * edge
    y = tape.op("conv", (x,), size, keeps=(x,), weights=(weight,), flops=flops)
    scale = tape.weight(f"{name}.norm", 2 * outer, cast=False)
    y = tape.op("batch_norm", (y,), size, keeps=(y,), weights=(scale,))
    return tape.op("relu", (y,), size, own=True) if relu else y


def _bottleneck(wide: int, width: int, before: int, edge: int, c: int, first: bool) -> Tape:
    tape = Tape()
    x = tape.value(wide * before * before * c)
    y = _unit(tape, x, "conv1", wide, width, 1, before, c)
    y = _unit(tape, y, "conv2", width, width, 3, edge, c)
    y = _unit(tape, y, "conv3", width, width * 4, 1, edge, c, relu=False)
    other = _unit(tape, x, "down", wide, width * 4, 1, edge, c, relu=False) if first else x
    size = width * 4 * edge * edge * c
    tape.op("relu", (tape.op("add", (y, other), size),), size, own=True)
    return tape
