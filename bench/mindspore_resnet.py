"""A training step of ResNet-50 in MindSpore: the emulated Ascend against MindSpore's own CPU target, in one run.

Usage: python bench/mindspore_resnet.py [--python PY] [--batch 32] [--size 224] [--threads 2] [--steps 2]
       [--processor] [--json OUT]

Each side is a process of its own with the same weights, data and number of threads; the fastest of its steps after the
first counts. On a busy machine, --processor counts the processor time of one thread instead. Ends with 1 when the ratio
is over its limit or the losses differ by more than a percent. Both sides run one after the other.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_LIMIT = 3.0
_LOSS = 0.01
_LAYERS = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))
_MARK = "step-times"


def main() -> int:
    parser = argparse.ArgumentParser(description="measure a training step of ResNet-50 in MindSpore")
    parser.add_argument("--python", default=".venv-mindspore/bin/python", help="an interpreter with MindSpore")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=2, help="after the first, which compiles")
    parser.add_argument("--processor", action="store_true", help="processor time of one thread, for busy machines")
    parser.add_argument("--json", help="the row, as an object")
    parser.add_argument("--only", choices=("npu", "cpu"), help=argparse.SUPPRESS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(
            options.batch, options.size, options.steps, time.process_time if options.processor else time.perf_counter
        )
        return 0
    if options.only:
        print(side(options, options.only))
        return 0
    options.threads = 1 if options.processor else options.threads
    npu, cpu = side(options, "npu"), side(options, "cpu")
    ratio = min(npu["seconds"]) / min(cpu["seconds"])
    apart = max(abs(one - other) / abs(other) for one, other in zip(npu["losses"], cpu["losses"], strict=True))
    good = ratio <= _LIMIT and apart <= _LOSS
    print(
        f"resnet-50 {options.batch}x3x{options.size}x{options.size} {ratio:.2f} times (limit {_LIMIT}) "
        f"{'ok' if good else 'over'}: CPU target {min(cpu['seconds']):.2f} s, emulated {min(npu['seconds']):.2f} s, "
        f"losses apart by {apart:.1e}, {options.threads} threads"
    )
    if options.json:
        row = {"ratio": ratio, "limit": _LIMIT, "apart": apart, "npu": npu, "cpu": cpu}
        Path(options.json).write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
    return 0 if good else 1


def side(options: argparse.Namespace, name: str) -> dict[str, Any]:
    """The losses and the seconds of the steps of one of the two."""
    threads = str(options.threads)
    environ = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "GLOG_v": "3"}
    jumar = [sys.executable, "-m", "jumar", "run", "--python", options.python]
    given = ["--batch", str(options.batch), "--size", str(options.size), "--steps", str(options.steps)]
    given += ["--processor"] if options.processor else []
    command = [*jumar, *(["--on", "cpu"] if name == "cpu" else []), __file__, "--worker", *given]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=3600, check=False)
    for line in done.stdout.splitlines():
        if line.startswith(_MARK):
            return dict(json.loads(line[len(_MARK) :]))
    sys.exit(f"error: no steps of `{name}`\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")


def worker(batch: int, size: int, steps: int, clock: Callable[[], float]) -> None:
    import mindspore
    import numpy as np
    from mindspore import Tensor, nn

    mindspore.set_context(mode=mindspore.GRAPH_MODE, device_target="Ascend")
    mindspore.set_seed(1)
    numbers = np.random.default_rng(0)
    network = resnet50(nn, numbers)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(network.trainable_params(), 0.001, 0.9)
    train = nn.TrainOneStepCell(nn.WithLossCell(network, loss), optimizer).set_train()
    images = Tensor(numbers.standard_normal((batch, 3, size, size), dtype=np.float32))
    labels = Tensor(numbers.integers(0, 1000, batch).astype(np.int32))
    losses, seconds = [], []
    for _ in range(steps + 1):
        start = clock()
        losses.append(float(train(images, labels).asnumpy()))
        seconds.append(clock() - start)
    print(_MARK, json.dumps({"losses": losses, "seconds": seconds[1:], "first": seconds[0]}), flush=True)


def resnet50(nn: Any, numbers: Any) -> Any:
    """He and others 2015, table 1, with the stride in the 3 x 3 convolution."""
    import numpy as np
    from mindspore import Tensor

    def convolution(inside: int, outside: int, kernel: int, stride: int = 1) -> list[Any]:
        scale = (2 / (kernel * kernel * outside)) ** 0.5
        weight = Tensor((numbers.standard_normal((outside, inside, kernel, kernel)) * scale).astype(np.float32))
        pad = {"pad_mode": "pad", "padding": kernel // 2}
        return [nn.Conv2d(inside, outside, kernel, stride, weight_init=weight, **pad), nn.BatchNorm2d(outside)]

    class Block(nn.Cell):  # type: ignore[misc]
        def __init__(self, inside: int, width: int, stride: int) -> None:
            super().__init__()
            first, second = convolution(inside, width, 1), convolution(width, width, 3, stride)
            self.body = nn.SequentialCell([*first, nn.ReLU(), *second, nn.ReLU(), *convolution(width, width * 4, 1)])
            same = stride == 1 and inside == width * 4
            self.past = nn.SequentialCell([nn.Identity()] if same else convolution(inside, width * 4, 1, stride))
            self.relu = nn.ReLU()

        def construct(self, x: Any) -> Any:
            return self.relu(self.body(x) + self.past(x))

    layers = [*convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, "same")]
    inside = 64
    for count, width, stride in _LAYERS:
        for at in range(count):
            layers.append(Block(inside, width, stride if at == 0 else 1))
            inside = width * 4
    last = Tensor((numbers.standard_normal((1000, inside)) * 0.01).astype(np.float32))
    return nn.SequentialCell([*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dense(inside, 1000, last)])


if __name__ == "__main__":
    sys.exit(main())
