"""An exact search over all candidates; where nothing fits, which wishes exclude each other and what comes nearest."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence

from jumar.core.compat import dataclass
from jumar.machine import pairs
from jumar.machine.plan.candidates import Candidate, candidates, has_image, preview, rank
from jumar.machine.plan.host import Host
from jumar.machine.plan.request import Constraint, PlanRequest, Requirements
from jumar.tables import cann as releases
from jumar.tables import installation

NEAREST = 3
HARD = 10
"""The weight of a machine: other sets are shown only when there are none for this one."""
_FITTING = {pairs.Fit.FITS: 2, pairs.Fit.UNKNOWN: 1, pairs.Fit.DOES_NOT: 0}


@dataclass(frozen=True, slots=True)
class Reason:
    """What the other wishes of the conflict leave for one of them, and which rows say so."""

    wish: str
    about: str
    others: tuple[str, ...]
    left: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Near:
    """A set that works, and the wishes that it does not keep with what it has instead."""

    candidate: Candidate
    changes: tuple[tuple[str, str], ...]

    def command(self, asked: PlanRequest) -> str:
        """The call that gives this set."""
        one = self.candidate
        words = ["jumar", "plan", "--chip", asked.chip if asked.chip and one.family else one.family, "--arch", one.arch]
        if self.changes and any(said.startswith(("--chip", "the chip")) for said, _ in self.changes):
            words[3] = one.family
        if asked.os and not any(said.startswith("--os") for said, _ in self.changes):
            words += ["--os", asked.os]
        if one.row is not None:
            words += ["--framework", f"{one.framework}=={one.version}"]
        return shlex.join([*words, "--cann", one.cann, "--python", one.python])


@dataclass(frozen=True, slots=True)
class Conflict:
    """A smallest group of wishes that no candidate fulfils together."""

    wishes: tuple[str, ...]
    reasons: tuple[Reason, ...]
    nearest: tuple[Near, ...]


def solve(wish: Requirements, host: Host, *, container: bool = False) -> Candidate | Conflict:
    """The best candidate that all constraints allow, or why there is none."""
    pool = candidates(wish.framework)
    fitting = _allowed(pool, wish.constraints)
    if fitting:
        known = [one for one in fitting if all(constraint.sure(one) for constraint in wish.constraints)]
        return max(known or fitting, key=_preference(host, container))
    core = _core(pool, wish.constraints)
    reasons = tuple(_reason(pool, one, core) for one in core)
    return Conflict(tuple(one.said for one in core), reasons, _nearest(pool, wish.constraints, host))


def _preference(host: Host, container: bool = False) -> Callable[[Candidate], tuple[object, ...]]:
    """What is installed is kept where it fits, then the general order decides."""

    def order(one: Candidate) -> tuple[object, ...]:
        runs = 2 if host.driver is None else _FITTING[pairs.driver_and_cann(host.driver, one.cann, one.family).fit]
        *general, python = rank(one)
        return (
            one.cann == host.cann,
            container and has_image(one),
            *general[:4],
            runs,
            *general[4:],
            one.python == host.python,
            python,
        )

    return order


def _allowed(pool: Iterable[Candidate], constraints: Sequence[Constraint]) -> list[Candidate]:
    return [one for one in pool if all(constraint.allows(one) for constraint in constraints)]


def _core(pool: Sequence[Candidate], constraints: Sequence[Constraint]) -> list[Constraint]:
    """Leaves out every constraint without which there is still no answer; facts of the machine stay longest."""
    core = sorted(constraints, key=lambda one: -one.weight)
    for constraint in list(core):
        rest = [one for one in core if one is not constraint]
        if rest and not any(all(one.allows(candidate) for one in rest) for candidate in pool):
            core = rest
    return core


def _reason(pool: Sequence[Candidate], wish: Constraint, core: list[Constraint]) -> Reason:
    others = [one for one in core if one is not wish]
    left = _allowed(pool, others)
    values = sorted({wish.value(one) for one in left}, key=_version_key)
    rows = [one.row.source for one in left if one.row is not None]
    if any(one.name == "chip" for one in core):
        rows = [installation.families()[one.family].source for one in _allowed(pool, core[:1]) or left] + rows
    sources = dict.fromkeys(rows)
    return Reason(wish.said, wish.about, tuple(one.said for one in others), tuple(values), tuple(sources)[:2])


def _nearest(pool: Sequence[Candidate], constraints: Sequence[Constraint], host: Host) -> tuple[Near, ...]:
    """Sets that give up few and cheap wishes: the best for each choice of what to give up, then the next best ones."""
    places = {one.name: {value: at for at, value in enumerate(_values(pool, one))} for one in constraints if one.wanted}
    prefer = _preference(host)
    groups: dict[tuple[str, ...], dict[tuple[str, ...], tuple[tuple[object, ...], Near]]] = {}
    for candidate in pool:
        broken = [one for one in constraints if not one.allows(candidate)]
        steps = sum(_distance(one, candidate, places) for one in broken)
        cost = (preview(candidate), steps, _Reverse(prefer(candidate)))
        near = Near(candidate, tuple((one.said, one.value(candidate)) for one in broken))
        group = groups.setdefault(tuple(one.name for one in broken), {})
        values = tuple(value for _, value in near.changes)
        if values not in group or cost < group[values][0]:
            group[values] = (cost, near)
    weight = {one.name: one.weight for one in constraints}
    names = sorted(
        (names for names in groups if not _wasteful(names, groups)),
        key=lambda names: sum(weight[name] for name in names),
    )
    easy = [one for one in names if sum(weight[name] for name in one) < HARD] or names
    ordered = [sorted(groups[one].values(), key=lambda item: item[0]) for one in easy]
    firsts = [group[0][1] for group in ordered]
    others = [near for group in ordered for _, near in group[1:]]
    return tuple([*firsts, *others][:NEAREST])


def _wasteful(names: tuple[str, ...], groups: Iterable[tuple[str, ...]]) -> bool:
    """Is there a set that gives up only a part of these wishes?"""
    return any(set(other) < set(names) for other in groups)


def _values(pool: Sequence[Candidate], constraint: Constraint) -> list[str]:
    return sorted({constraint.value(one) for one in pool}, key=_version_key)


def _distance(constraint: Constraint, candidate: Candidate, places: dict[str, dict[str, int]]) -> int:
    """How many known versions lie between what was asked for and what the candidate has."""
    order = places.get(constraint.name, {})
    wanted = order.get(constraint.wanted)
    return abs(order[constraint.value(candidate)] - wanted) if wanted is not None else 0


def _version_key(text: str) -> tuple[int, object]:
    """Versions in their order, words after them; CANN's own scheme sorts those that Python's does not know."""
    return (0, releases.key(text)) if text[:1].isdigit() else (1, text)


class _Reverse:
    """Turns an order round, for sorting by cost upwards and preference downwards at once."""

    def __init__(self, value: tuple[object, ...]) -> None:
        self.value = value

    def __lt__(self, other: _Reverse) -> bool:
        return other.value < self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reverse) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)
