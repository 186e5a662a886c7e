"""From the lines of both sides to differences: each case on each rank, then what was measured."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jumar.selftest import classify, outcome
from jumar.selftest.case import Unit
from jumar.selftest.classify import Again
from jumar.selftest.outcome import Outcome
from jumar.selftest.result import DEVICE_FAULT, EMULATOR_WRONG, UNKNOWN, Difference, Figure

Lines = Mapping[str, Mapping[str, Any]]
"""By id of the case."""
SLOWER, TOGETHER, CARDS_EMULATED, CARDS_REAL = 3.0, 8.0, 2.5, 1.5
"""From how many times on a figure is slow: against the emulator or the model, for processes that wait for each other,
and of one card against the others, which are timed in turns."""
_WAITING = ("link", "collective")
_FAR = 1e6
_CASE_TIMES, _CASE_SECONDS = 20.0, 0.5
ON_CARD = "on_card_"
"""How the figures of single cards begin."""
_LOWER_IS_BETTER = ("us", "ms")


class Sides(NamedTuple):
    """The lines of one rank: of the card, of the emulator, of further runs on the card, and what judged those."""

    card: Lines
    emulator: Lines
    again: Lines
    other: Lines
    judged: Lines


def differences(unit: Unit, sides: Sides, soc: str = "") -> Iterator[Difference]:
    """In what the card and the emulator differ in this case; `soc` is the chip."""
    card, emulator = (Outcome.read(lines[unit.id]) for lines in (sides.card, sides.emulator))
    if card.state != emulator.state or (unit.case.raises and _errors_differ(card, emulator)):
        yield _of_state(unit, card, emulator, sides, soc)
        return
    if card.state != outcome.DONE:
        return
    rows = [_renamed(unit, row) for row in _rows(sides.emulator, unit, "card")]
    again = _again(unit, sides)
    if card.repeated > 1:
        what = f"two equal calls in one process gave different results, {_times(card.repeated)} apart"
        yield Difference(unit.id, "not repeatable", what, DEVICE_FAULT, "the card does not agree with itself",
                         {"rows": rows[:1]})  # fmt: skip
        return
    for row in rows:
        verdict, why = classify.of_values(unit.id, row, again, soc)
        yield Difference(unit.id, str(row["kind"]), _sentence(row), verdict, why, row)
    if card.fallbacks != emulator.fallbacks:
        what = f"ran on the CPU: {_list(card.fallbacks)} on the card, {_list(emulator.fallbacks)} on the emulator"
        yield Difference(
            unit.id,
            "fallback",
            what,
            UNKNOWN,
            "the same torch_npu runs on both sides and decides it from what the card offers",
        )
    yield from _slow_case(unit, card, emulator, sides)


def differs(unit: Unit, card: Lines, emulator: Lines) -> bool:
    """Whether there is anything to look into."""
    return any(differences(unit, Sides(card, emulator, {}, {}, {})))


def _errors_differ(card: Outcome, emulator: Outcome) -> bool:
    one, other = card.error, emulator.error
    if one.get("code") and one.get("code") == other.get("code") and one.get("type") == other.get("type"):
        return False
    return any(one.get(part, "") != other.get(part, "") for part in ("type", "code", "words"))


def _of_state(unit: Unit, card: Outcome, emulator: Outcome, sides: Sides, soc: str) -> Difference:
    fails = card.state != outcome.DONE
    kind = card.state if card.state in (outcome.HANG, outcome.CRASH, outcome.MEMORY) else "error"
    library = card.error.get("library", "") if fails else ""
    kind = "missing library" if library else kind
    again = _again_state(unit, card, sides)
    verdict, why = classify.of_state(
        unit.id, kind, again, refused=emulator.refused, library=library, card_fails=fails, soc=soc
    )
    if unit.case.raises and verdict != DEVICE_FAULT:
        verdict, why = _of_refusal(card, emulator)
    what = f"the card {_said(card)}; the emulator {_said(emulator)}"
    return Difference(unit.id, kind, what, verdict, why, {"card": dict(card.error), "emulator": dict(emulator.error)})


def _of_refusal(card: Outcome, emulator: Outcome) -> classify.Verdict:
    """An error is the right answer of this case."""
    if card.state == emulator.state:
        return classify.Verdict(UNKNOWN, "both refuse it, in other words")
    if card.state == outcome.DONE:
        return classify.Verdict(DEVICE_FAULT, "torch defines an error for this call on every device")
    return classify.Verdict(EMULATOR_WRONG, "torch defines an error for this call, and the emulator gives a result")


def _said(one: Outcome) -> str:
    if one.state == outcome.DONE:
        return "finishes"
    if one.state == outcome.ERROR:
        kind = one.error.get("type") or "an error"
        return f"raises {kind}: {one.error.get('said', '').splitlines()[0] if one.error.get('said') else ''}".strip(
            ": "
        )
    words = {outcome.HANG: "does not answer in time", outcome.CRASH: f"dies ({one.error.get('code', '')})",
             outcome.MEMORY: "takes more memory than it may"}  # fmt: skip
    return words.get(one.state, one.state)


def _rows(lines: Lines, unit: Unit, label: str) -> list[Mapping[str, Any]]:
    found = lines.get(unit.id, {}).get("judged", {}).get(label)
    return list(found["differs"]) if found else []


def _again(unit: Unit, sides: Sides) -> Again:
    """Whether the other runs on cards differ from the emulator too."""

    def seen(lines: Lines, label: str) -> bool | None:
        if unit.id not in lines or unit.id not in sides.judged:
            return None
        if lines[unit.id].get("state") != outcome.DONE:
            return True
        return bool(_rows(sides.judged, unit, label))

    return Again(seen(sides.again, "again"), seen(sides.other, "other"))


def _again_state(unit: Unit, card: Outcome, sides: Sides) -> Again:
    def seen(lines: Lines) -> bool | None:
        return None if unit.id not in lines else lines[unit.id].get("state") == card.state

    return Again(seen(sides.again), seen(sides.other))


def _renamed(unit: Unit, row: Mapping[str, Any]) -> dict[str, Any]:
    """Facts that have a name of their own."""
    found = dict(row)
    if row["kind"] == "fact" and unit.family == "libraries":
        found["kind"] = "missing library" if row["card"] is not True else "fact"
        found["name"] = f"{unit.case.name} {row['name']}"
    elif row["kind"] == "fact" and row["name"] == "name":
        found["kind"] = "name"
    elif row["kind"] == "fact" and unit.case.must and _opposite(row["card"], row["emulator"]):
        found.update(card_right=row["card"], emulator_right=row["emulator"])
    return found


def _opposite(card: Any, emulator: Any) -> bool:
    return isinstance(card, bool) and isinstance(emulator, bool) and card != emulator


def _sentence(row: Mapping[str, Any]) -> str:
    name = row["name"]
    if row["kind"] in ("values", "rounding"):
        said = f"`{name}`: {100 * row.get('many', 1):.3g} % of the values differ"
        if row["kind"] == "rounding":
            way = "towards 0" if row.get("shift", 0) < 0 else "away from 0"
            said += f", on average {abs(row.get('shift', 0)):.2g} units of the last place {way}"
        else:
            said += f", {_times(row.get('ratio', _FAR))}"
        how = f", as if {classify.as_if(row)}" if row.get("as_if") else ""
        how = f", each is {row['pattern']}" if row.get("pattern") else how
        return f"{said}{how}; card {row['card']}, emulator {row['emulator']}"
    part = row.get("part", "") if row["kind"] == "layout" else ""
    return f"`{name}`{f' {part}' if part else ''}: card {row['card']}, emulator {row['emulator']}"


def _times(ratio: float) -> str:
    return f"up to {ratio:.3g} times the floor" if ratio < _FAR else "far beyond the floor"


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _slow_case(unit: Unit, card: Outcome, emulator: Outcome, sides: Sides) -> Iterator[Difference]:
    if unit.case.timed or unit.id not in sides.emulator:
        return
    limit = max(_CASE_TIMES * emulator.seconds, emulator.seconds + _CASE_SECONDS)
    again = sides.again.get(unit.id, {}).get("seconds", card.seconds)
    if min(card.seconds, again) > limit:
        what = f"{card.seconds:.3g} s on the card, {emulator.seconds:.3g} s on the emulator"
        yield Difference(unit.id, "slow", what, UNKNOWN, "a card ought to be no slower than its emulation on the CPU")


def figures(lines: Sequence[Lines]) -> dict[str, Figure]:
    """What the timed cases measured; the best of several runs."""
    found: dict[str, Figure] = {}
    for run in lines:
        for fields in run.values():
            for name, result in fields.get("results", {}).items():
                value = result.get("value")
                if not isinstance(value, dict) or "unit" not in value:
                    continue
                figure = Figure(name, value["value"], value["unit"], value["spread"])
                if name not in found or _better(figure, found[name]):
                    found[name] = figure
    return found


def _better(one: Figure, other: Figure) -> bool:
    return one.value < other.value if one.unit in _LOWER_IS_BETTER else one.value > other.value


def slow(card: Mapping[str, Figure], emulator: Mapping[str, Figure], expected: Mapping[str, tuple[float, str]], *,
         emulated: bool) -> Iterator[Difference]:  # fmt: skip
    """Figures that are worse than those of the other cards, of the emulator beside it, or of the chip's model."""
    cards = {name: figure for name, figure in card.items() if name.startswith(ON_CARD)}
    for name, figure in cards.items():
        others = [other.value for label, other in cards.items() if label != name]
        times = figure.value / statistics.median(others) if others else 0.0
        if times > (CARDS_EMULATED if emulated else CARDS_REAL):
            what = f"card {name.rpartition('_')[2]} takes {times:.1f} times as long as the others for the same work"
            yield Difference("speed/cards", "slow", what, DEVICE_FAULT, "the other cards of this machine are faster")
    for name, figure in card.items():
        if name in cards:
            continue
        value, source = (emulator[name].value, "the emulator on this host") if emulated and name in emulator else (
            expected.get(name, (0.0, "")))  # fmt: skip
        if not value:
            continue
        times = figure.value / value if figure.unit in _LOWER_IS_BETTER else value / figure.value
        if times > (TOGETHER if name in _WAITING else SLOWER):
            what = f"{name}: {figure.value:g} {figure.unit}; {source} has {value:.4g}, {times:.1f} times better"
            yield Difference(f"speed/{name}", "slow", what, UNKNOWN, "a busy host, a throttled card or a wrong model")
