"""The self-test from beginning to end: the card, then the emulator, then again what differs, then the commands.

Everything that is done lies in a folder, so that a run that was cut off goes on where it stopped.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jumar.core.write import replace
from jumar.selftest import child, outcome, side, verdict
from jumar.selftest.case import Unit
from jumar.selftest.result import (
    DEVICE_FAULT,
    DIFFERENT,
    NOT_RUN,
    SAME,
    SKIPPED,
    UNKNOWN,
    CaseResult,
    Difference,
    SelfTest,
)
from jumar.selftest.side import CARD, EMULATOR, Ended, Job, Limits, Side

AGAIN, OTHER, AGAIN_JUDGED = "again", "other", "again-judged"
MOST_AGAIN = 24
"""Cases that are run again: beyond that, the first of each family."""
START = "start"
_CHECKS = "checks.json"
_CHECK_SECONDS = 15.0
"""Left for a command to be worth starting."""


class Check(NamedTuple):
    """A case that is a command: what it finds on a side, and how both are compared."""

    id: str
    run: Callable[[Side, float], dict[str, Any]]
    """Facts, within so many seconds; `skipped` with a reason where it does not concern this machine."""
    differences: Callable[[dict[str, Any], dict[str, Any]], list[Difference]]


class Plan(NamedTuple):
    units: Sequence[Unit]
    checks: Sequence[Check]
    card: Side
    emulator: Callable[[Mapping[str, Any]], Side]
    """The emulator of the machine that the card's side turned out to be."""
    cards: int
    place: Path
    limits: Limits
    expected: Callable[[str], Mapping[str, tuple[float, str]]]
    """What the models assume of a chip."""


class Run:
    """One self-test."""

    def __init__(self, plan: Plan, tell: Callable[[str], None]) -> None:
        self.plan, self.tell = plan, tell
        self._known: dict[Path, tuple[int, verdict.Lines]] = {}
        self.alone = [unit for unit in plan.units if unit.case.cards == 1]
        self.together = [unit for unit in plan.units if unit.case.cards > 1 and plan.cards >= unit.case.cards]

    def run(self) -> SelfTest:
        begun = time.monotonic()
        ended = self._side(self.plan.card, CARD, {})
        machine = self._machine()
        emulator = self.plan.emulator(machine)
        if not ended.failed:
            self._side(emulator, EMULATOR, {CARD: self.plan.place / CARD})
            self._again(emulator)
        checks = self._checks(emulator)
        return self._result(machine, ended, checks, time.monotonic() - begun)

    def _jobs(self, name: str, units: Sequence[Unit], against: Mapping[str, Path]) -> Iterator[Job]:
        """One for the cases of one card, one for those of all."""
        place = self.plan.place / name
        for kind, mine, world in (("one", self.alone, 1), ("all", self.together, self.plan.cards)):
            chosen = [unit for unit in mine if unit in units]
            if chosen:
                found = {label: folder / kind for label, folder in against.items()}
                yield Job(chosen, place / kind, world, against=found)

    def _side(self, one: Side, name: str, against: Mapping[str, Path], units: Sequence[Unit] | None = None,
              device: int = 0) -> Ended:  # fmt: skip
        """All cases on a side; a side that does not start at all says why."""
        chosen = self.plan.units if units is None else units
        if one.name == EMULATOR and not self.plan.card.emulated:
            chosen = [unit for unit in chosen if not unit.case.timed]  # its speed says nothing about a card
        found = Ended()
        for job in self._jobs(name, chosen, against):
            job = job._replace(device=device if job.world == 1 else 0)
            found = side.work(one, job, self.plan.limits, lambda id_: self.tell(f"{one.name}: {id_}"))
            if found.failed and job.world == 1:
                return found
            if found.failed:
                self._group_fails(job, found)
        return Ended(late=found.late)

    def _group_fails(self, job: Job, found: Ended) -> None:
        """The cards work alone and not together: that is the result of each case of all of them."""
        for place in side.ranks(job):
            place.mkdir(parents=True, exist_ok=True)
            over = child.ended(place)
            for unit in job.units:
                if unit.id not in over:
                    side.write(place, unit.id, outcome.ERROR, found.failed)

    def _machine(self) -> dict[str, Any]:
        for job in self._jobs(CARD, self.plan.units, {}):
            if found := side.started(job):
                return {**found, "test_cards": self.plan.cards}
        return {"emulated": self.plan.card.emulated, "test_cards": self.plan.cards}

    def _again(self, emulator: Side) -> None:
        """What differs runs once more on the same card in a new process, and on another card, if there is one."""
        found = [unit for unit in self.plan.units if self._differs(unit)]
        if len(found) > MOST_AGAIN:
            first = {unit.family: unit for unit in reversed(found)}
            found = [*first.values(), *[unit for unit in found if unit not in first.values()]][:MOST_AGAIN]
        timed = [unit for unit in self.plan.units if unit.case.timed]
        if any(self._slow(self._emulated())):
            found = [*found, *[unit for unit in timed if unit not in found]]
        if not found:
            return
        self.tell(f"{len(found)} again")
        self._side(self.plan.card, AGAIN, {}, found)
        against = {AGAIN: self.plan.place / AGAIN}
        alone = [unit for unit in found if unit in self.alone and not unit.case.timed]
        if self.plan.cards > 1 and alone:
            self._side(self.plan.card, OTHER, {}, alone, device=1)
            against[OTHER] = self.plan.place / OTHER
        self._side(emulator, AGAIN_JUDGED, against, found)

    def _emulated(self) -> bool:
        return bool(self._machine().get("emulated", True))

    def _sides(self, unit: Unit) -> Iterator[verdict.Sides]:
        columns = [self._cached(name, unit) for name in (CARD, EMULATOR, AGAIN, OTHER, AGAIN_JUDGED)]
        for rank in range(len(columns[0])):
            yield verdict.Sides(*(column[rank] if rank < len(column) else {} for column in columns))

    def _cached(self, name: str, unit: Unit) -> list[verdict.Lines]:
        kind = "one" if unit.case.cards == 1 else "all"
        world = 1 if kind == "one" else self.plan.cards
        return [self._ended(self.plan.place / name / kind / f"rank{rank}") for rank in range(world)]

    def _ended(self, place: Path) -> verdict.Lines:
        """Read again only where something was written."""
        path = place / child.LINES
        size = path.stat().st_size if path.exists() else 0
        if self._known.get(place, (-1, {}))[0] != size:
            self._known[place] = (size, child.ended(place))
        return self._known[place][1]

    def _differs(self, unit: Unit) -> bool:
        return any(
            verdict.differs(unit, sides.card, sides.emulator)
            for sides in self._sides(unit)
            if _ran(sides.card, unit) and _ran(sides.emulator, unit)
        )

    def _figures(self, *names: str) -> Any:
        timed = [unit for unit in self.plan.units if unit.case.timed]
        return verdict.figures([{unit.id: lines.get(unit.id, {})} for unit in timed for name in names
                                for lines in self._cached(name, unit)[:1]])  # fmt: skip

    def _slow(self, emulated: bool) -> list[Difference]:
        card, emulator = self._figures(CARD, AGAIN), self._figures(EMULATOR, AGAIN_JUDGED)
        soc = str(self._machine().get("name", ""))
        return list(verdict.slow(card, emulator, self.plan.expected(soc), emulated=emulated))

    def _checks(self, emulator: Side) -> dict[str, Any]:
        """The commands on both sides; those that ran before are not run again."""
        path = self.plan.place / _CHECKS
        known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        for check in self.plan.checks:
            if check.id in known or time.monotonic() + _CHECK_SECONDS > self.plan.limits.until:
                continue
            self.tell(f"{check.id}")
            known[check.id] = [_facts(check, one, self.plan.limits) for one in (self.plan.card, emulator)]
            replace(path, json.dumps(known).encode())
        return known

    def _result(self, machine: Mapping[str, Any], ended: Ended, checks: Mapping[str, Any], seconds: float) -> SelfTest:
        cases, found = [], []
        if ended.failed:
            found.append(_not_started(ended.failed))
        for unit in self.plan.units:
            case, differences = self._case(unit)
            cases.append(case)
            found += differences
        for check in self.plan.checks:
            case, differences = _checked(check, checks.get(check.id))
            cases.append(case)
            found += differences
        found += self._slow(bool(machine.get("emulated", True)))
        day = time.strftime("%Y-%m-%d", time.gmtime())
        figures = tuple(self._figures(CARD, AGAIN).values())
        return SelfTest(machine, tuple(cases), tuple(_once(found)), figures, seconds, day)

    def _case(self, unit: Unit) -> tuple[CaseResult, list[Difference]]:
        if unit.case.cards > self.plan.cards:
            return CaseResult(unit.id, SKIPPED, f"needs {unit.case.cards} free cards"), []
        found: list[Difference] = []
        soc = str(self._machine().get("name", ""))
        result = CaseResult(unit.id, NOT_RUN, "the time was over, or its side did not start")
        for rank, sides in enumerate(self._sides(unit)):
            line = sides.card.get(unit.id)
            if line is None or (unit.id not in sides.emulator and not unit.case.timed):
                return CaseResult(unit.id, NOT_RUN, "the time was over, or its side did not start"), found
            if "skipped" in line:
                return CaseResult(unit.id, SKIPPED, line["skipped"]), []
            if unit.case.timed:
                found += _timed(unit, line)
            elif "skipped" not in sides.emulator[unit.id]:
                found += [_ranked(row, rank, unit) for row in verdict.differences(unit, sides, soc)]
            if rank == 0:
                result = _summed(unit, line, sides.emulator.get(unit.id, {}))
        return result._replace(state=DIFFERENT if found else SAME), found


def _ran(lines: verdict.Lines, unit: Unit) -> bool:
    return unit.id in lines and "skipped" not in lines[unit.id] and not unit.case.timed


def _facts(check: Check, one: Side, limits: Limits) -> dict[str, Any]:
    seconds = max(1.0, min(limits.until - time.monotonic(), limits.patience))
    try:
        return check.run(one, seconds)
    except Exception as error:  # a command that fails is a result
        return {"failed": f"{type(error).__name__}: {error}"}


def _summed(unit: Unit, card: Mapping[str, Any], emulator: Mapping[str, Any]) -> CaseResult:
    noise = emulator.get("judged", {}).get(CARD, {}).get("noise")
    error = card.get("error") or {}
    words = f"{error.get('type', '')}: {error.get('words', '')}" if error else ""
    return CaseResult(unit.id, SAME, "", card.get("seconds", 0.0), emulator.get("seconds", 0.0), noise, words)


def _timed(unit: Unit, line: Mapping[str, Any]) -> list[Difference]:
    """A measurement that does not come to its end."""
    if line.get("state") == outcome.DONE:
        return []
    said = (line.get("error") or {}).get("said", "")
    kind = line["state"] if line["state"] != outcome.ERROR else "error"
    return [Difference(unit.id, kind, f"the measurement ends with: {kind} {said}".strip(), UNKNOWN,
                       "nothing was measured")]  # fmt: skip


def _ranked(row: Difference, rank: int, unit: Unit) -> Difference:
    return row._replace(what=f"rank {rank}: {row.what}") if unit.case.cards > 1 else row


def _once(found: Sequence[Difference]) -> Iterator[Difference]:
    """The same difference on several ranks is one."""
    seen: dict[tuple[str, str], int] = {}
    for row in found:
        key = (row.id, row.kind)
        seen[key] = seen.get(key, 0) + 1
        if seen[key] <= 2 or row.kind in ("missing library", "slow"):
            yield row


def _not_started(error: Mapping[str, str]) -> Difference:
    library = error.get("library", "")
    said = error.get("said") or error.get("words", "")
    kind = "missing library" if library else START
    why = f"`{library}` cannot be opened" if library else "no case can run on the card's side"
    verdict_ = DEVICE_FAULT if library else UNKNOWN
    return Difference(START, kind, f"torch_npu does not start: {error.get('type', '')} {said}".strip(), verdict_, why)


def _checked(check: Check, facts: Any) -> tuple[CaseResult, list[Difference]]:
    if facts is None:
        return CaseResult(check.id, NOT_RUN, "the time was over"), []
    card, emulator = facts
    skipped = card.get("skipped") or emulator.get("skipped")
    if skipped:
        return CaseResult(check.id, SKIPPED, skipped), []
    found = check.differences(card, emulator)
    return CaseResult(check.id, DIFFERENT if found else SAME), found
