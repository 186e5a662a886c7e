"""One side of the self-test: the variables that its processes get, and the processes, watched to their end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jumar.runtime import process, variables
from jumar.selftest import child, outcome
from jumar.selftest.case import Unit

CARD, EMULATOR = "card", "emulator"
START_SECONDS = 240.0
"""To import torch and reach the card: a first start may compile."""
_TICK = 0.1
_FRUITLESS = 3
_SAID = 4000


class Side(NamedTuple):
    name: str
    environ: Mapping[str, str]
    emulated: bool


class Limits(NamedTuple):
    """What the work may cost; both are the user's."""

    until: float
    """On the clock of `time.monotonic`."""
    patience: float
    """Seconds for one case, whatever the case itself allows."""
    memory_mib: int


class Job(NamedTuple):
    """Cases for one process, or for one on each card."""

    units: Sequence[Unit]
    place: Path
    world: int = 1
    device: int = 0
    against: Mapping[str, Path] = {}
    """Folders of what the card's side left, by a label."""


class Ended(NamedTuple):
    """How the work of a side ended: `failed` is the error of a side that does not start at all."""

    failed: Mapping[str, str] = {}
    late: bool = False


def work(side: Side, job: Job, limits: Limits, tell: Callable[[str], None]) -> Ended:
    """Run the cases that have no line yet; a hang, a crash or an error ends a process, and another takes the rest."""
    fruitless = 0
    while True:
        left = [unit for unit in job.units if not all(unit.id in child.ended(place) for place in ranks(job))]
        if not left:
            return Ended()
        if time.monotonic() >= limits.until:
            return Ended(late=True)
        before = len(left)
        failed = _Group(side, job, left, limits, tell).run()
        after = sum(not all(unit.id in child.ended(place) for place in ranks(job)) for unit in job.units)
        fruitless = fruitless + 1 if after == before else 0
        if fruitless >= _FRUITLESS or (failed and fruitless):
            return Ended(failed or {"type": "", "words": "the process ends before its first case", "said": ""})


def ranks(job: Job) -> list[Path]:
    return [job.place / f"rank{number}" for number in range(job.world)]


def started(job: Job) -> Mapping[str, Any]:
    """What the first process said about its machine; empty before one started."""
    return next((fields["machine"] for fields in child.read(ranks(job)[0]) if "machine" in fields), {})


class _Group:
    """The processes of one start."""

    def __init__(
        self, side: Side, job: Job, units: Sequence[Unit], limits: Limits, tell: Callable[[str], None]
    ) -> None:
        self.side, self.job, self.units, self.limits, self.tell = side, job, units, limits, tell
        self.known = {unit.id: unit for unit in units}
        self.running: list[process.Process] = []
        self.begun: dict[str, float] = {}

    def run(self) -> Mapping[str, str]:
        """Returns the error of a start that failed, else nothing."""
        with tempfile.TemporaryDirectory(prefix="jumar-selftest-") as scratch:
            skips = [sum(1 for _ in child.read(place)) for place in ranks(self.job)]
            try:
                self._start(Path(scratch))
                reason, which = self._wait(skips)
            finally:
                for one in self.running:
                    process.kill(one, patience=5.0)
            return self._settle(reason, which, skips, Path(scratch))

    def _start(self, scratch: Path) -> None:
        for rank, place in enumerate(ranks(self.job)):
            place.mkdir(parents=True, exist_ok=True)
            noted = scratch / f"refusals{rank}"
            told = {
                "cases": [unit.id for unit in self.units], "out": str(place), "scratch": str(scratch),
                "device": self.job.device + rank, "rank": rank, "world": self.job.world, "meet": str(scratch / "meet"),
                "against": {label: str(folder / place.name) for label, folder in self.job.against.items()},
                "refusals": str(noted) if self.side.emulated else "",
            }  # fmt: skip
            path = scratch / f"job{rank}.json"
            path.write_text(json.dumps(told), encoding="utf-8")
            environ = {**self.side.environ, **({variables.REFUSAL_FILE.name: str(noted)} if self.side.emulated else {})}
            with open(scratch / f"said{rank}", "wb") as said:
                words = [sys.executable, child.__file__, str(path)]
                self.running.append(process.start(words, env=environ, cwd=scratch, stdout=said, stderr=process.STDOUT,
                                                  dies_with_us=signal.SIGKILL))  # fmt: skip

    def _wait(self, skips: Sequence[int]) -> tuple[str, str]:
        """Until all have ended, or one of them must be ended: why, and in which case."""
        start = time.monotonic()
        while any(one.poll() is None for one in self.running):
            time.sleep(_TICK)
            now = time.monotonic()
            open_ = self._open(skips, now)
            if now >= self.limits.until:
                return "late", ""
            late = next((id_ for id_, since in open_.items() if now - since > self._seconds(id_)), "")
            if late or (not open_ and not self.begun and now - start > START_SECONDS):
                return outcome.HANG, late
            large = self._memory()
            if large > self._allowed(open_):
                return outcome.MEMORY, next(iter(open_), "")
            if any(one.poll() not in (None, 0) for one in self.running):
                self._grace()
                break
        return "", ""

    def _grace(self) -> None:
        """The other ranks of a case that failed on one of them wait for ever."""
        until = time.monotonic() + 5.0
        while time.monotonic() < until and any(one.poll() is None for one in self.running):
            time.sleep(_TICK)

    def _open(self, skips: Sequence[int], now: float) -> dict[str, float]:
        """The cases that have begun on some rank and not ended on all."""
        states = [list(child.read(place))[skip:] for place, skip in zip(ranks(self.job), skips)]
        begun = list(dict.fromkeys(fields["begin"] for lines in states for fields in lines if "begin" in fields))
        over = [{fields["end"] for fields in lines if "end" in fields} for lines in states]
        for id_ in begun:
            if id_ not in self.begun:
                self.begun[id_] = now
                self.tell(id_)
        return {id_: self.begun[id_] for id_ in begun if not all(id_ in ended for ended in over)}

    def _seconds(self, id_: str) -> float:
        return min(self.known[id_].case.seconds, self.limits.patience)

    def _allowed(self, open_: Mapping[str, float]) -> int:
        wanted = max((self.known[id_].case.memory_mib for id_ in open_), default=self.limits.memory_mib)
        return min(wanted, self.limits.memory_mib)

    def _memory(self) -> int:
        """The largest process in MiB; what a card holds does not count."""
        found = 0
        for one in self.running:
            with (
                contextlib.suppress(OSError, ValueError, IndexError),
                open(f"/proc/{one.pid}/statm", encoding="ascii") as file,
            ):
                pages, shared = map(int, file.read().split()[1:3])
                found = max(found, (pages - shared) * os.sysconf("SC_PAGE_SIZE") >> 20)
        return found

    def _settle(self, reason: str, which: str, skips: Sequence[int], scratch: Path) -> Mapping[str, str]:
        """Write the lines that processes which were ended could not write."""
        failed: Mapping[str, str] = {}
        codes = [one.poll() for one in self.running]
        broken = {fields["end"] for place in ranks(self.job) for fields in child.read(place)
                  if fields.get("state") in (outcome.ERROR, outcome.HANG, outcome.CRASH, outcome.MEMORY)}  # fmt: skip
        for rank, (place, skip) in enumerate(zip(ranks(self.job), skips)):
            lines = list(child.read(place))[skip:]
            failed = next((fields["failed"] for fields in lines if "failed" in fields), failed)
            begun = [fields["begin"] for fields in lines if "begin" in fields]
            over = {fields["end"] for fields in lines if "end" in fields}
            for id_ in [id_ for id_ in begun if id_ not in over]:
                if reason != "late":
                    state = reason or (outcome.ERROR if id_ in broken else outcome.CRASH)
                    write(place, id_, state, _error(state, _last(scratch / f"said{rank}"), codes[rank]))
        if reason == outcome.HANG and not which:
            return {"type": "", "words": f"no answer within {START_SECONDS:.0f} s", "said": _last(scratch / "said0")}
        if not failed and not self.begun and reason != "late":
            said = _last(scratch / "said0")
            return {"type": "", **outcome.words(said or f"the process ended with {codes[0]}")}
        return failed


def write(place: Path, id_: str, state: str, error: Mapping[str, str]) -> None:
    """A line in the place of a process that can write none."""
    line = json.dumps({"end": id_, **outcome.Outcome(state, {}, error)._asdict()})
    with open(place / child.LINES, "a", encoding="utf-8") as file:
        file.write(line + "\n")


def _error(state: str, said: str, code: int | None) -> dict[str, str]:
    if state == outcome.HANG:
        return {"type": "", **outcome.words("")}
    ended = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
    return {"type": "", **outcome.words(said), "code": ended}


def _last(path: Path) -> str:
    """The end of what a process printed."""
    try:
        return path.read_bytes()[-_SAID:].decode("utf-8", "replace").strip().rpartition("\n")[2]
    except OSError:
        return ""
