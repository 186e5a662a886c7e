"""What the emulator costs: the same work on the emulated card and on the plain CPU device, in one run.

Usage: python bench/emulate.py [--json OUT] [--only NAME,…]

Prints each ratio with its limit; ends with 1 when one is over it. Both sides take turns, and the smallest time of
each counts, so that other work on the machine weighs on both alike. Small operators and start-up are counted in
processor time, which other work does not stretch: both are the work of one thread.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jumar import start

Row = dict[str, Any]
_ROUNDS = 7
_LIMITS = {"cnn step": 1.15, "gpt step": 1.15, "small operator": 4.0, "memory": 1.15, "start": 1.5,
           "numerics cnn": 2.0, "numerics gpt": 2.0, "numerics 910A": 2.0}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description="measure the emulator against the CPU")
    parser.add_argument("--json", help="the rows, as a list of objects")
    parser.add_argument("--only", default="", help=", ".join(_LIMITS))
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    parser.add_argument("--step-of", choices=("cnn", "gpt"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ["JUMAR_EMULATE"] = "1"
    start.begin()
    if options.memory_of:
        print(peak_memory(options.memory_of))
        return 0
    if options.step_of:
        print(best_step({"cnn": cnn, "gpt": gpt}[options.step_of]))
        return 0
    only = set(filter(None, options.only.split(",")))
    measures: dict[str, Callable[[], Row]] = {
        "start": start_up,
        "memory": memory,
        "small operator": small_operator,
        "cnn step": lambda: step("cnn step", cnn),
        "gpt step": lambda: step("gpt step", gpt),
        "numerics cnn": lambda: numerics("cnn", "Ascend910B3"),
        "numerics gpt": lambda: numerics("gpt", "Ascend910B3"),
        "numerics 910A": lambda: numerics("cnn", "Ascend910A"),
    }
    rows = []
    for name, measure in measures.items():
        if only and name not in only:
            continue
        row = {"name": name, "limit": _LIMITS[name], **measure()}
        rows.append(row)
        verdict = "ok" if row["value"] <= row["limit"] else "over"
        print(f"{name:15} {row['value']:7.3f} {row['unit']:6} (limit {row['limit']}) {verdict:5} {row['note']}")
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 1 if any(row["value"] > row["limit"] for row in rows) else 0


def step(name: str, make: Callable[[str], Callable[[], None]]) -> Row:
    """A training step of 50 ms or more, as a ratio."""
    cpu, npu = _in_turns(make("cpu"), make("npu"))
    return {"value": npu / cpu, "unit": "times", "note": f"{cpu * 1e3:.0f} ms, on the card {npu * 1e3:.0f} ms"}


def _in_turns(
    first: Callable[[], None],
    second: Callable[[], None],
    rounds: int = _ROUNDS,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, float]:
    best = [float("inf")] * 2
    for _ in range(rounds + 1):  # the first round warms up and is the slowest
        for index, work in enumerate((first, second)):
            start = clock()
            work()
            best[index] = min(best[index], clock() - start)
    return best[0], best[1]


def cnn(device: str) -> Callable[[], None]:
    """A small residual network on 32 x 32 images."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(width, width, 3, padding=1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(),
                nn.Conv2d(width, width, 3, padding=1, bias=False),
                nn.BatchNorm2d(width),
            )

        def forward(self, x: Any) -> Any:
            return nn.functional.relu(x + self.body(x))

    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 32, 3, padding=1), *(Block(32) for _ in range(3)), nn.AdaptiveAvgPool2d(1)]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(32, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images, labels = torch.randn(32, 3, 32, 32, device=device), torch.randint(0, 10, (32,), device=device)
    return _trainer(lambda: nn.functional.cross_entropy(model(images), labels), optimizer)


def gpt(device: str) -> Callable[[], None]:
    """A transformer of four layers, written as most people write it."""
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x: Any) -> Any:
            size, length, width = x.shape
            q, k, v = (
                part.view(size, length, self.heads, -1).transpose(1, 2)
                for part in self.qkv(self.norm1(x)).split(width, 2)
            )
            scores = (q @ k.transpose(-2, -1)) * (1.0 / (width // self.heads) ** 0.5)
            later = torch.ones(length, length, device=x.device, dtype=torch.bool).triu(1)
            y = scores.masked_fill(later, float("-inf")).softmax(-1) @ v
            x = x + self.out(y.transpose(1, 2).reshape(size, length, width))
            return x + self.mlp(self.norm2(x))

    torch.manual_seed(0)
    embed = nn.Embedding(512, 128)
    model = nn.Sequential(embed, *(Layer(128, 4) for _ in range(4)), nn.Linear(128, 512)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = torch.randint(0, 512, (8, 129), device=device)

    def loss() -> Any:
        return nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())

    return _trainer(loss, optimizer)


def _trainer(loss: Callable[[], Any], optimizer: Any) -> Callable[[], None]:
    def train() -> None:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        value.item()

    return train


def small_operator() -> Row:
    """Microseconds that the glue adds to an operator on a few numbers: the mean over common ones."""
    import torch

    count = 100
    cases = {
        "add": lambda x: torch.add(x, x),
        "mul_": lambda x: x.mul_(1.0),
        "relu": torch.relu,
        "mm": lambda x: torch.mm(x, x),
        "sum": torch.sum,
        "cat": lambda x: torch.cat((x, x)),
    }
    added = {}
    with torch.no_grad():
        for name, call in cases.items():
            cpu, npu = (torch.ones(4, 4, device=device) for device in ("cpu", "npu"))
            best = _in_turns(
                functools.partial(_repeat, call, cpu, count), functools.partial(_repeat, call, npu, count),
                rounds=60, clock=time.thread_time,
            )  # fmt: skip
            added[name] = (best[1] - best[0]) / count * 1e6
    note = ", ".join(f"{name} {value:.1f}" for name, value in added.items())
    return {"value": sum(added.values()) / len(added), "unit": "µs", "note": note}


def _repeat(call: Callable[[Any], Any], x: Any, count: int) -> None:
    for _ in range(count):
        call(x)


def memory() -> Row:
    """Peak resident memory of a process that trains, above that of one that only starts the same device."""
    sides = {device: _memory_of(device) for device in ("cpu", "npu")}
    note = f"{sides['cpu'] >> 20} MiB, on the card {sides['npu'] >> 20} MiB"
    return {"value": sides["npu"] / sides["cpu"], "unit": "times", "note": note}


def _memory_of(device: str) -> int:
    command = [sys.executable, __file__, "--memory-of", device]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def peak_memory(device: str) -> int:
    import torch

    torch.ones(1, device="npu")  # both sides load the same libraries
    work = cnn(device)
    for _ in range(3):
        work()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def numerics(model: str, soc: str) -> Row:
    """A training step with the numerics of the card, over that of the plain emulator: processes that take turns.

    In processor time of one thread, which other work does not stretch.
    """
    best = {"cpu": float("inf"), "card": float("inf")}
    for mode in ("cpu", "card") * 2:
        environ = {**os.environ, "JUMAR_NUMERICS": mode, "JUMAR_SOC": soc}
        command = [sys.executable, __file__, "--step-of", model]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environ)
        best[mode] = min(best[mode], float(done.stdout))
    note = f"{best['cpu'] * 1e3:.0f} ms, with the card's numerics {best['card'] * 1e3:.0f} ms"
    return {"value": best["card"] / best["cpu"], "unit": "times", "note": note}


def best_step(make: Callable[[str], Callable[[], None]]) -> float:
    import torch

    torch.set_num_threads(1)
    work = make("npu")
    times = []
    for _ in range(_ROUNDS + 1):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def start_up() -> Row:
    """Seconds from nothing to the first tensor on the card, over those of `import torch` alone."""
    plain = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "JUMAR_EMULATE": "0"}
    _run("import torch; torch.ones(1, device='npu')", dict(os.environ))  # builds the glue if nobody did
    alone, card = _in_turns(
        lambda: _run("import torch", plain),
        lambda: _run("import torch; torch.ones(1, device='npu')", dict(os.environ)),
        rounds=3,
        clock=_children,
    )
    return {"value": card - alone, "unit": "s", "note": f"{alone:.2f} s, with a card {card:.2f} s"}


def _run(code: str, variables: dict[str, str]) -> None:
    subprocess.run([sys.executable, "-c", code], env=variables, check=True, capture_output=True)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
