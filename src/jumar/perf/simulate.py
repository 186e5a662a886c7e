"""The run as a card would have seen it: the host sends, the card works off, and each waits for the other where it must.

Real are the operators, their order, shapes and places, and the time of the program between them; modelled are the time
of the host for an operator and of the card for a kernel (roofline.py). One stream for kernels, one for collectives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import NamedTuple

from jumar.perf.profile import FALLBACK, HostOp, Kernel, ProfiledStep
from jumar.perf.roofline import Card, Tensor

SEVERAL = 3
"""Passes of one place that show what is usual."""


class Call(NamedTuple):
    """One thing that the recorder saw."""

    kind: str
    """kernel, view, sync, fallback, collective, data, begin, end"""
    name: str
    gap: float
    """Microseconds of the program's own work before it."""
    spent: float
    """Microseconds that it really took here."""
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    flow: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    stack: str = ""


@dataclass
class Timeline:
    card: Card
    host: list[HostOp] = field(default_factory=list)
    kernels: list[Kernel] = field(default_factory=list)
    comm: list[Kernel] = field(default_factory=list)
    outputs: list[tuple[tuple[Tensor, ...], tuple[Tensor, ...]]] = field(default_factory=list)
    """Inputs and outputs of each kernel, as in `kernels`."""
    moved: list[int] = field(default_factory=list)
    """Bytes of each collective, as in `comm`."""
    waits: list[tuple[float, float]] = field(default_factory=list)
    steps: list[ProfiledStep] = field(default_factory=list)

    @cached_property
    def step_spans(self) -> list[tuple[float, float]]:
        return [(step.start, step.end) for step in self.steps]


def simulate(calls: list[Call], card: Card, ranks: int = 1) -> Timeline:
    clock = _Clock(Timeline(card), ranks)
    for call in calls:
        clock.host += max(0.0, call.gap)
        getattr(clock, call.kind)(call)
    clock.close()
    return clock.line


def warm(calls: list[Call]) -> list[Call]:
    """Without everything up to the end of the first update, where there are others: set-up and first calls are slow."""
    ends = [index for index, call in enumerate(calls) if call.kind == "end"]
    return calls[ends[0] + 1 :] if len(ends) > 1 else calls


def steady(calls: list[Call]) -> list[Call]:
    """With the usual time before each operator of the same place: a single slow pass is the machine's."""
    places: dict[tuple[str, str, str], list[float]] = {}
    for call in calls:
        places.setdefault((call.kind, call.name, call.stack), []).append(call.gap)
    usual = {key: median(gaps) for key, gaps in places.items() if len(gaps) >= SEVERAL}
    return [call._replace(gap=usual.get((call.kind, call.name, call.stack), call.gap)) for call in calls]


class _Clock:
    def __init__(self, line: Timeline, ranks: int) -> None:
        self.line, self.ranks = line, ranks
        self.host = self.device = self.links = 0.0
        self._begun: dict[str, tuple[float, str]] = {}
        self._step = 0.0

    def kernel(self, call: Call) -> None:
        start = self.host
        self.host += self.line.card.model["host_us"]
        self._operator(call, start)
        self._send(call, start)

    def view(self, call: Call) -> None:
        start = self.host
        self.host += self.line.card.model["view_us"]
        self._operator(call, start)

    def sync(self, call: Call) -> None:
        start = self.host
        self.host += self.line.card.model["host_us"]
        if call.outputs:
            self._send(call, start)
        self._wait(start)
        self._operator(call, start)

    def fallback(self, call: Call) -> None:
        """The card ends its work, tensors come over, the host computes, the result goes back."""
        start = self.host
        self._wait(start)
        moved = sum(item.bytes for item in (*call.inputs, *call.outputs))
        self.host += call.spent + moved / self.line.card.model["copy_bytes_per_us"]
        self._operator(call._replace(name=FALLBACK + call.name), start)

    def collective(self, call: Call) -> None:
        start = self.host
        self.host += self.line.card.model["host_us"]
        self._operator(call, start)
        moved = sum(item.bytes for item in call.inputs)
        begin = max(start + self.line.card.model["latency_us"], self.device, self.links)
        self.links = begin + self.line.card.collective(moved, self.ranks)
        name = "hcom_" + call.name.partition("::")[2].strip("_").replace("_", "")
        self.line.comm.append(
            Kernel(f"{name}__{len(self.line.comm)}", f"{name}_", "HCCL", begin, self.links, host=start, thread=1)
        )
        self.line.moved.append(moved)

    def data(self, call: Call) -> None:
        start = self.host
        self.host += call.spent
        self._operator(call, start)

    def begin(self, call: Call) -> None:
        self._begun[call.name] = self.host, call.stack
        self.device = max(self.device, self.links)  # the update needs what the collectives made

    def end(self, call: Call) -> None:
        start, stack = self._begun.pop(call.name, (self.host, ""))
        self.line.host.append(HostOp(call.name, start, self.host, 1, stack=stack))
        self.line.steps.append(ProfiledStep(str(len(self.line.steps)), self._step, self.host))
        self._step = self.host

    def close(self) -> None:
        self.line.host.sort(key=lambda op: (op.start, -op.end))

    def _operator(self, call: Call, start: float) -> None:
        shapes = ";".join(",".join(map(str, item.shape)) for item in call.inputs)
        types = ";".join(item.type for item in call.inputs)
        self.line.host.append(HostOp(call.name, start, self.host, 1, shapes, types, call.stack, call.flow))

    def _send(self, call: Call, start: float) -> None:
        plain = call.name.partition("::")[2].strip("_")
        cost = self.line.card.cost(plain, list(call.inputs), list(call.outputs))
        begin = max(start + self.line.card.model["latency_us"], self.device)
        self.device = begin + cost.time
        shapes = ";".join(",".join(map(str, item.shape)) for item in call.inputs)
        types = ";".join(item.type for item in call.inputs)
        self.line.kernels.append(
            Kernel(call.name, cost.type, cost.core, begin, self.device, shapes, types, host=start, thread=1)
        )
        self.line.outputs.append((call.inputs, call.outputs))

    def _wait(self, start: float) -> None:
        self.host = max(self.host, self.device, self.links)
        self.line.waits.append((start, self.host))
