"""An exact search over all candidates; where nothing fits, which wishes exclude each other and what comes nearest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from jumar.machine.plan.candidates import Candidate, candidates, rank
from jumar.machine.plan.host import Host
from jumar.machine.plan.wish import Constraint, Wish
from jumar.tables import cann as releases

NEAREST = 3
SHOWN = 8


@dataclass(frozen=True, slots=True)
class Reason:
    """What the other wishes of the conflict leave for one of them, and which rows say so."""

    wish: str
    others: tuple[str, ...]
    left: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Near:
    """A set that works, and the wishes that it does not keep with what it has instead."""

    candidate: Candidate
    changes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """A smallest group of wishes that no candidate fulfils together."""

    wishes: tuple[str, ...]
    reasons: tuple[Reason, ...]
    nearest: tuple[Near, ...]


def solve(wish: Wish, host: Host) -> Candidate | Conflict:
    """The best candidate that all constraints allow, or why there is none."""
    pool = candidates(wish.framework)
    fitting = _allowed(pool, wish.constraints)
    if fitting:
        return max(fitting, key=_preference(host))
    core = _core(pool, wish.constraints)
    reasons = tuple(_reason(pool, one, core) for one in core)
    return Conflict(tuple(one.said for one in core), reasons, _nearest(pool, wish.constraints, host))


def _preference(host: Host) -> Callable[[Candidate], tuple[object, ...]]:
    """What is installed is kept where it fits, then the general order decides."""

    def order(one: Candidate) -> tuple[object, ...]:
        runs = host.driver is None or releases.drives(host.driver, one.cann) is not False
        *general, python = rank(one)
        return (one.cann == host.cann, *general[:4], runs, *general[4:], one.python == host.python, python)

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
    sources = dict.fromkeys(one.row.source for one in left if one.row is not None)
    return Reason(wish.said, tuple(one.said for one in others), tuple(values), tuple(sources)[:2])


def _nearest(pool: Sequence[Candidate], constraints: Sequence[Constraint], host: Host) -> tuple[Near, ...]:
    """Sets that break the cheapest wishes, near to what was asked for; no two differ only in what nobody asked."""
    prefer = _preference(host)
    places = {one.name: {value: at for at, value in enumerate(_values(pool, one))} for one in constraints if one.wanted}
    found: dict[tuple[object, ...], tuple[tuple[int, int], Candidate, list[Constraint]]] = {}
    for candidate in pool:
        broken = [one for one in constraints if not one.allows(candidate)]
        cost = (sum(one.weight for one in broken), sum(_distance(one, candidate, places) for one in broken))
        key = (candidate.version, candidate.cann, tuple(one.name for one in broken))
        best = found.get(key)
        if best is None or (cost, _Reverse(prefer(candidate))) < (best[0], _Reverse(prefer(best[1]))):
            found[key] = (cost, candidate, broken)
    ordered = sorted(found.values(), key=lambda item: (item[0], _Reverse(prefer(item[1]))))
    nears, kinds = [], set()
    for _, candidate, broken in ordered:
        kind = tuple(one.value(candidate) for one in broken)
        if kind not in kinds:
            kinds.add(kind)
            nears.append(Near(candidate, tuple((one.said, one.value(candidate)) for one in broken)))
    return tuple(nears[:NEAREST])


def _values(pool: Sequence[Candidate], constraint: Constraint) -> list[str]:
    return sorted({constraint.value(one) for one in pool}, key=_version_key)


def _distance(constraint: Constraint, candidate: Candidate, places: dict[str, dict[str, int]]) -> int:
    """How many known versions lie between what was asked for and what the candidate has."""
    order = places.get(constraint.name, {})
    wanted = order.get(constraint.wanted, order.get(f"CANN {constraint.wanted}"))
    return abs(order[constraint.value(candidate)] - wanted) if wanted is not None else 0


def _version_key(text: str) -> tuple[int, object]:
    if text.startswith("CANN "):
        return 1, releases.key(text)
    try:
        return 0, Version(text)
    except InvalidVersion:
        return 2, text


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
