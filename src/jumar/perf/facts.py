"""What the analyzers ask of a profile: idle time and its causes, the kernels of an operator, places in the source."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from jumar.core.compat import zip
from jumar.perf import spans
from jumar.perf.places import place
from jumar.perf.profile import DATA, HostOp, Kernel, Profile
from jumar.perf.result import Split
from jumar.perf.spans import Span

NO_CARD = "no task of a card in this profile: record its activity too, or model one with `jumar perf lint`"
ROWS_ONLY = "there is no list of kernels: the split comes from the step table, and most advice needs more"
NOTHING = Split(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass
class Facts:
    profile: Profile
    window: Span = (0.0, 0.0)
    split: Split = NOTHING
    idle: list[Span] = field(default_factory=list)

    @cached_property
    def sent(self) -> dict[int, list[Kernel]]:
        """Kernels by the index of the innermost host operator that sent them."""
        found: dict[int, list[Kernel]] = {}
        by_thread: dict[int, list[int]] = {}
        for index, op in enumerate(self.profile.host):
            by_thread.setdefault(op.thread, []).append(index)
        kernels: dict[int, list[Kernel]] = {}
        for kernel in [*self.profile.kernels, *self.profile.comm]:
            if kernel.host >= 0:
                kernels.setdefault(kernel.thread, []).append(kernel)
        for thread, items in kernels.items():
            _link(self.profile.host, by_thread.get(thread, []), sorted(items, key=lambda k: k.host), found)
        return found

    @cached_property
    def owners(self) -> dict[Kernel, HostOp]:
        """The innermost host operator that sent a kernel."""
        return {kernel: self.profile.host[index] for index, items in self.sent.items() for kernel in items}

    def place_of(self, kernel: Kernel) -> str:
        """Where the program asked for a kernel, empty where that is not known."""
        owner = self.owners.get(kernel)
        return place(owner.stack) if owner else ""

    @cached_property
    def parents(self) -> list[int]:
        """For every host operator the one around it on the same thread, or -1."""
        parents = []
        stacks: dict[int, list[int]] = {}
        for index, op in enumerate(self.profile.host):
            stack = stacks.setdefault(op.thread, [])
            while stack and self.profile.host[stack[-1]].end <= op.start:
                stack.pop()
            parents.append(stack[-1] if stack else -1)
            stack.append(index)
        return parents

    @cached_property
    def device(self) -> list[float]:
        """Device time that each host operator and everything inside it caused."""
        times = [0.0] * len(self.profile.host)
        for index, items in self.sent.items():
            amount = sum(item.duration for item in items)
            while index >= 0:
                times[index] += amount
                index = self.parents[index]
        return times

    @property
    def is_measured(self) -> bool:
        """Times of a card, not a model's."""
        return not self.profile.modelled and self.split.total > 0

    @property
    def host_bound(self) -> float:
        """Share of the whole in which the card waits for the host: what a saved host microsecond is worth."""
        return self.split.host / self.split.total if self.split.total else 0.0

    def share(self, time: float) -> float:
        return time / self.split.total if self.split.total else 0.0


def gather(profile: Profile) -> Facts:
    """Busy and idle time of the card over the steps, or from its first task to its last one."""
    facts = Facts(profile)
    compute = spans.union((item.start, item.end) for item in profile.kernels)
    comm = spans.union((item.start, item.end) for item in profile.comm)
    every = spans.union([*compute, *comm])
    if not every:
        profile.notes.append(ROWS_ONLY if profile.step_rows else NO_CARD)
        facts.split = _of_rows(profile)
        return facts
    low, high = every[0][0], every[-1][1]
    if profile.steps:
        low = min(low, profile.steps[0].start)
    facts.window = low, high
    facts.idle = spans.gaps(every, facts.window)
    waiting = spans.union((op.start, op.end) for op in profile.host if op.name.startswith(DATA))
    data = spans.total(spans.common(facts.idle, waiting))
    free = spans.total(facts.idle)
    overlapped = spans.total(spans.common(compute, comm))
    known = bool(profile.host)
    facts.split = Split(
        total=high - low,
        computing=spans.total(compute),
        communication=spans.total(comm) - overlapped,
        host=free - data if known else 0.0,
        data=data,
        unknown=0.0 if known else free,
        overlapped=overlapped,
    )
    return facts


def _of_rows(profile: Profile) -> Split:
    """What the step table says, where nothing else does."""
    computing, exposed, overlapped, free = (
        (sum(values) for values in zip(*(row[1:] for row in profile.step_rows), strict=True))
        if profile.step_rows
        else (0.0, 0.0, 0.0, 0.0)
    )
    return Split(computing + exposed + free, computing, exposed, 0.0, 0.0, free, overlapped)


def _link(host: list[HostOp], ops: list[int], kernels: list[Kernel], found: dict[int, list[Kernel]]) -> None:
    stack: list[int] = []
    at = 0
    for kernel in kernels:
        while at < len(ops) and host[ops[at]].start <= kernel.host:
            stack.append(ops[at])
            at += 1
        while stack and host[stack[-1]].end < kernel.host:
            stack.pop()
        if stack:
            found.setdefault(stack[-1], []).append(kernel)
