"""Trains one network of the collection for some steps; runs where tools/mindspore_networks.py copied it to.

Usage: jumar run --python PY [--on cpu] mindspore_networks_worker.py ROW, where ROW is a row of the table as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

_MARK = "network-losses"


def main() -> None:
    row = json.loads(sys.argv[1])
    os.chdir(row["place"])
    sys.path.insert(0, row["place"])
    sys.argv = ["train.py", *row.get("arguments", [])]
    import mindspore
    import numpy as np
    from mindspore import nn

    mode = mindspore.PYNATIVE_MODE if row.get("pynative") else mindspore.GRAPH_MODE
    mindspore.set_context(mode=mode, device_target="Ascend")
    mindspore.set_seed(1)
    np.random.seed(1)
    found: dict[str, Any] = {"ms": mindspore, "nn": nn, "np": np, "Tensor": mindspore.Tensor}
    exec(row["build"], found)  # the table says how its networks are built
    train = found.get("train")
    if train is None:
        network = found["network"]
        train = nn.TrainOneStepCell(network, optimizer(nn, row, network.trainable_params()), row.get("scale", 1.0))
    train.set_train()
    without_dropout(nn, train)
    numbers = np.random.default_rng(7)
    inputs = [mindspore.Tensor(made(numbers, words.split())) for words in row["inputs"]]
    losses = [loss_of(train(*inputs)) for _ in range(row["steps"])]
    print(_MARK, json.dumps(losses), flush=True)


def without_dropout(nn: Any, train: Any) -> None:
    """Dropout lets everything through: which numbers fall is the device's own business."""
    for _, cell in train.cells_and_names():
        if isinstance(cell, nn.Dropout):
            cell.p = 0.0


def optimizer(nn: Any, row: dict[str, Any], parameters: Any) -> Any:
    rate, scale = row.get("rate", 0.01), row.get("scale", 1.0)
    if row.get("optimizer") == "Adam":
        return nn.Adam(parameters, rate, loss_scale=scale)
    return nn.Momentum(parameters, rate, 0.9, loss_scale=scale)


def made(numbers: Any, words: list[str]) -> Any:
    """`float32 4x3x8x8` is normal; two numbers behind are the ends of a range; `ones` and `pairs` are what they say."""
    import numpy as np

    kind, shape = words[0], tuple(int(size) for size in words[1].split("x"))
    if words[2:] == ["ones"]:
        return np.ones(shape, kind)
    if words[2:3] == ["pairs"]:  # the places of a matrix that is full: (row, column)
        rows, width = shape[0] // int(words[3]), int(words[3])
        return np.stack(np.divmod(np.arange(rows * width), width), 1).astype(kind)
    if len(words) == 2:
        return numbers.standard_normal(shape).astype(kind)
    low, high = float(words[2]), float(words[3])
    if "float" in kind:
        return numbers.uniform(low, high, shape).astype(kind)
    return numbers.integers(int(low), int(high), shape).astype(kind)


def loss_of(result: Any) -> list[float]:
    """One number, or several where a step has more than one loss (the first of a step with loss scaling counts)."""
    many = result if isinstance(result, (tuple, list)) else (result,)
    return [float(one.asnumpy().astype("float64").mean()) for one in many if "loat" in str(one.dtype)]


if __name__ == "__main__":
    main()
