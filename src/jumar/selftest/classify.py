"""Whose fault a difference is: by evidence, never by guess. What the evidence does not settle is unknown.

The evidence, in this order: the card does not agree with itself; another card agrees with the emulator; a row of the
documented limits; the emulator's own list of what it refuses; a process that hangs or dies; the CPU in float64.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from jumar.selftest import floor
from jumar.selftest.result import DEVICE_FAULT, DOCUMENTED, EMULATOR_WRONG, UNKNOWN
from jumar.tables import selftest as limits

UNREPEATED = "a second process on the same card agrees with the emulator"


class Verdict(NamedTuple):
    verdict: str
    why: str


class Again(NamedTuple):
    """What further runs of the case showed; None where there was none."""

    same_card: bool | None = None
    """Whether the same card differs again in a new process."""
    other_card: bool | None = None
    """Whether another card differs too."""


def as_if(row: Mapping[str, Any]) -> str:
    """What would explain the values of the card."""
    lacks = {floor.SATURATION: "inf were the largest number and nan 0", floor.SUBNORMALS: "subnormal numbers were 0"}
    return lacks.get(row["as_if"], f"rounded to {row['as_if']}")


def of_values(id_: str, row: Mapping[str, Any], again: Again, soc: str = "") -> Verdict:
    """A result with other values, types or layout."""
    found = _of_repeats(again) or _documented(id_, str(row["kind"]), str(row.get("as_if", "")), soc)
    if found:
        return found
    card, emulator = row.get("card_right"), row.get("emulator_right")
    if row["kind"] == "fact" and card is not None:
        return Verdict(EMULATOR_WRONG if card else DEVICE_FAULT, "it holds on every card by definition")
    if card and emulator is False:
        return Verdict(EMULATOR_WRONG, "the CPU in float64 agrees with the card, not with the emulator")
    if emulator and card is False:
        if row.get("as_if"):
            return Verdict(UNKNOWN, f"the CPU agrees with the emulator; the card is as if {as_if(row)}, "
                                    "and no document says that this chip does it here")  # fmt: skip
        if row["kind"] == "rounding":
            return Verdict(
                UNKNOWN, "the CPU agrees with the emulator; the card rounds otherwise, which no document says"
            )
        part = f" and the same {row.get('part') or row['kind']}" if row["kind"] in ("data type", "layout") else ""
        return Verdict(DEVICE_FAULT, f"the CPU agrees with the emulator{part}, the card repeats its answer, "
                                     "and no rounding explains it")  # fmt: skip
    if row["kind"] == "missing library":
        return Verdict(DEVICE_FAULT, "the loader of this machine cannot open it: CANN or the driver is incomplete")
    if card is None:
        return Verdict(UNKNOWN, "there is no third computation to ask")
    both = "both are within the floor of the CPU's result" if card else "the CPU agrees with neither side"
    return Verdict(UNKNOWN, both)


def of_state(id_: str, kind: str, again: Again, *, refused: tuple[str, ...], library: str, card_fails: bool,
             soc: str = "") -> Verdict:  # fmt: skip
    """A case that ended otherwise: an error, a hang, a crash."""
    found = _of_repeats(again) or _documented(id_, kind, "", soc)
    if found:
        return found
    if refused and not card_fails:
        return Verdict(DOCUMENTED, f"the emulator's own list refuses it: `jumar emulate coverage {refused[0]}`")
    if library:
        return Verdict(DEVICE_FAULT, f"`{library}` cannot be opened: CANN or the driver is incomplete")
    if kind in ("hang", "crash"):
        twice = ", twice" if again.same_card else ""
        return Verdict(DEVICE_FAULT, f"a process that {'hangs' if kind == 'hang' else 'dies'} is no answer{twice}; the "
                                     "emulator finished the same calls")  # fmt: skip
    if not card_fails:
        return Verdict(EMULATOR_WRONG, "the card does it, and the emulator's list does not refuse it")
    return Verdict(UNKNOWN, "the card refuses what the emulator does; nothing here tells which of them is right")


def _of_repeats(again: Again) -> Verdict | None:
    if again.same_card is False:
        return Verdict(DEVICE_FAULT, UNREPEATED)
    if again.other_card is False:
        return Verdict(DEVICE_FAULT, "another card of this machine agrees with the emulator")
    return None


def _documented(id_: str, kind: str, reason: str, soc: str) -> Verdict | None:
    row = limits.documented(id_, kind, reason, soc)
    return Verdict(DOCUMENTED, f"{row.why} ({row.name}; {row.source})") if row else None
