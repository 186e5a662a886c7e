"""What `torch.compile` does on the emulated card: training steps against uncompiled ones and against the CPU's.

Usage: python bench/compile.py [--json OUT] [--only NAME,…]

Each model trains three steps from the same weights, compiled and not: losses and first gradients are compared. Then
compiled steps on the card, uncompiled ones on the card and compiled ones on the CPU take turns, and the smallest time
of each counts. Ends with 1 when numbers differ.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from jumar import start

_ROUNDS = 7
_STEPS = 3
_NAMES = ("gpt", "cnn", "tagger", "encoder")


class Run(NamedTuple):
    """A model in training."""

    step: Callable[[], float]
    losses: list[float]
    gradients: list[Any]
    first: float
    """Seconds of the first step, compilation included."""


def main() -> int:
    parser = argparse.ArgumentParser(description="measure compiled training steps on the emulated card")
    parser.add_argument("--json", help="the rows, as a list of objects")
    parser.add_argument("--only", default="", help=", ".join(_NAMES))
    options = parser.parse_args()
    os.environ["JUMAR_EMULATE"] = "1"
    start.begin()
    only = set(filter(None, options.only.split(",")))
    rows = []
    for name in _NAMES:
        if only and name not in only:
            continue
        rows.append(measure(name))
        print(json.dumps(rows[-1]), flush=True)
        if options.json:
            Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row["equal"] for row in rows) else 1


def measure(name: str) -> dict[str, Any]:
    plain, card, cpu = trained(name, "npu", compiled=False), trained(name, "npu"), trained(name, "cpu")
    best = in_turns([plain.step, card.step, cpu.step])
    loss = max(abs(one - other) / abs(one) for one, other in zip(plain.losses, card.losses, strict=True))
    gradient = max(float((one - other).abs().max()) for one, other in zip(plain.gradients, card.gradients, strict=True))
    return {
        "name": name,
        "equal": loss < 1e-4 and gradient < 1e-4,
        "loss": loss,
        "gradient": gradient,
        "compile": card.first,
        "compile_cpu": cpu.first,
        "plain": best[0],
        "compiled": best[1],
        "cpu": best[2],
    }


def trained(name: str, device: str, *, compiled: bool = True) -> Run:
    """Three steps from the weights of seed 0."""
    import torch
    from compare_models import task

    torch._dynamo.reset()
    work = task(name)
    model = work.model.to(device)
    inputs, labels = (part.to(device) for part in work.batch)

    def forward() -> Any:
        return work.loss(model(inputs), labels)

    loss_of = torch.compile(forward) if compiled else forward
    kept: list[Any] = []

    def step() -> float:
        work.optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        if not kept:
            kept.extend(p.grad.detach().cpu().clone() for p in model.parameters() if p.grad is not None)
        work.optimizer.step()
        return float(loss.detach().item())

    begin = time.perf_counter()
    losses = [step()]
    first = time.perf_counter() - begin
    losses += [step() for _ in range(_STEPS - 1)]
    return Run(step, losses, kept, first)


def in_turns(steps: list[Callable[[], float]]) -> list[float]:
    best = [float("inf")] * len(steps)
    for _ in range(_ROUNDS):
        for index, work in enumerate(steps):
            begin = time.perf_counter()
            work()
            best[index] = min(best[index], time.perf_counter() - begin)
    return best


if __name__ == "__main__":
    sys.exit(main())
