"""Compares what a card and the emulator computed, and gathers evidence on who is right; runs where torch is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jumar.selftest import floor, take
from jumar.selftest.case import Unit
from jumar.selftest.given import CPU, Given
from jumar.selftest.take import Taken

SHOWN = 4
"""Values of a difference that go into the report."""
_LAYOUT = ("shape", "stride", "device", "format")


class Judge:
    """The evidence on one case; what costs time is computed when a difference asks for it."""

    def __init__(self, unit: Unit, device: str, own: Taken, options: Mapping[str, Any]) -> None:
        self.unit, self.device, self.own, self.options = unit, device, own, options
        self._moved: dict[float, dict[str, floor.Moved]] = {}
        self._reference: tuple[Taken | None, Taken | None] | None = None

    def evidence(self, card: Taken) -> list[dict[str, Any]]:
        """One row for each result that differs."""
        found = []
        for name in dict.fromkeys([*self.own.facts, *card.facts]):
            row = self._compared(name, card)
            if row:
                found.append({"name": name, **row})
        return found

    def noise(self, card: Taken) -> float | None:
        """The relative error of the card against float64, over all results; None where there is no reference."""
        wide = self.reference()[0]
        if wide is None:
            return None
        found = [floor.relative(card.tensors[name], result) for name, result in wide.tensors.items()
                 if name in card.tensors and card.tensors[name].shape == result.shape]  # fmt: skip
        return max((one for one in found if one is not None), default=None)

    def reference(self) -> tuple[Taken | None, Taken | None]:
        """The case on the CPU: in float64, and in its own data type."""
        if self._reference is None:
            self._reference = (self._on_cpu(wide=True), self._on_cpu(wide=False))
        return self._reference

    def _on_cpu(self, *, wide: bool) -> Taken | None:
        if not self.unit.case.reference:
            return None
        try:
            return take.once(self.unit, self._given(CPU, wide=wide))
        except (RuntimeError, NotImplementedError, TypeError):  # the CPU lacks a kernel for the type
            return None

    def _given(self, device: str, **more: Any) -> Given:
        return Given(self.unit.id, self.unit.dtype, device, **{**self.options, **more})

    def _compared(self, name: str, card: Taken) -> dict[str, Any]:
        mine, theirs = self.own.facts.get(name), card.facts.get(name)
        if mine is None or theirs is None:
            return {"kind": "results", "card": _there(theirs), "emulator": _there(mine)}
        if "value" in mine or "value" in theirs:
            same = mine.get("value") == theirs.get("value")
            return {} if same else {"kind": "fact", "card": theirs.get("value"), "emulator": mine.get("value")}
        for part in ("dtype", *_LAYOUT):
            if mine.get(part) != theirs.get(part):
                return {"kind": "data type" if part == "dtype" else "layout", "part": part, "card": theirs.get(part),
                        "emulator": mine.get(part), **self._cpu_fact(name, part, mine, theirs)}  # fmt: skip
        return self._values(name, card.tensors[name])

    def _cpu_fact(self, name: str, part: str, mine: Any, theirs: Any) -> dict[str, Any]:
        plain = self.reference()[1]
        known = plain.facts.get(name, {}).get(part) if plain else None
        if known is None or part in ("device", "format"):
            return {}
        return {"reference": known, "card_right": known == theirs[part], "emulator_right": known == mine[part]}

    def _values(self, name: str, theirs: Any) -> dict[str, Any]:
        import torch

        mine = self.own.tensors[name]
        if torch.equal(mine, theirs) or bool(((mine == theirs) | (mine.isnan() & theirs.isnan())).all()):
            return {}
        base = {"kind": "values", **self._worst(name, mine, theirs)}
        if not mine.is_floating_point():
            count = int((mine != theirs).sum())
            return {
                **base,
                "ratio": float("inf"),
                "many": count / max(mine.numel(), 1),
                **self._right(name, theirs, 0.0),
            }
        unit = floor.unit(mine)
        noise = floor.NOISE.get(self.unit.rounding, floor.NOISE["float32"])
        apart = floor.ratio(theirs, mine, self._moves(name, noise), unit)
        shifted = floor.shift(theirs, mine) if self.unit.case.single or self.unit.case.exact else 0.0
        many = float((theirs != mine).double().mean())
        lost = floor.lost(theirs, mine)
        if apart <= 1 and not self.unit.case.exact and abs(shifted) < floor.BIASED and not lost:
            return {}
        kind = "values" if apart > 1 or lost else "rounding"
        found = {**base, "kind": kind, "ratio": apart, "shift": shifted, "many": many}
        pattern = floor.pattern(theirs, mine) if kind == "values" else ""
        as_if = lost or (self._explained(name, theirs, mine) if kind == "values" and not pattern else "")
        return {**found, "as_if": as_if, "pattern": pattern, **self._right(name, theirs, noise)}

    def _moves(self, name: str, noise: float) -> floor.Moved | None:
        if self.unit.case.exact:
            return None
        if noise not in self._moved:
            self._moved[noise] = floor.moved(
                lambda size, draw: take.once(self.unit, self._given(self.device, noise=size, draw=draw)).tensors,
                self.own.tensors, noise,
            )  # fmt: skip
        return self._moved[noise].get(name)

    def _explained(self, name: str, theirs: Any, mine: Any) -> str:
        """The finest coarser rounding of the inputs that would do as much; empty if none would."""
        own = floor.NOISE.get(self.unit.rounding, 0.0)
        for words, size in floor.COARSER.items():
            if size > own and floor.ratio(theirs, mine, self._moves(name, size), size / 4) <= 1:
                return words
        return ""

    def _right(self, name: str, theirs: Any, noise: float) -> dict[str, Any]:
        """Whether each of both is what the CPU computes in float64, within the floor."""
        wide = self.reference()[0]
        result = wide.tensors.get(name) if wide else None
        if result is None or result.shape != theirs.shape:
            return {}
        mine = self.own.tensors[name]
        if not theirs.is_floating_point():
            whole = result.to(theirs.dtype)
            return {"card_right": bool((whole == theirs).all()), "emulator_right": bool((whole == mine).all())}
        if self.unit.case.exact:
            rounded = result.to(theirs.dtype)
            return {"card_right": _equal(rounded, theirs), "emulator_right": _equal(rounded, mine)}
        unit, by = floor.unit(mine), self._moves(name, noise)
        rounded = result.to(mine.dtype)
        card, emulator = floor.ratio(theirs, rounded, by, unit), floor.ratio(mine, rounded, by, unit)
        return {"card_right": card <= 1, "emulator_right": emulator <= 1}

    def _worst(self, name: str, mine: Any, theirs: Any) -> dict[str, Any]:
        """The values that are farthest apart, of the card, the emulator and the reference."""
        away = (theirs.double() - mine.double()).abs().nan_to_num(float("inf")).flatten()
        places = away.topk(min(SHOWN, away.numel())).indices
        wide = self.reference()[0]
        reference = wide.tensors.get(name) if wide else None
        shown = {"card": theirs, "emulator": mine}
        if reference is not None and reference.shape == mine.shape:
            shown["reference"] = reference
        return {side: [_number(one) for one in tensor.flatten()[places].tolist()] for side, tensor in shown.items()}


def _equal(a: Any, b: Any) -> bool:
    return bool(((a == b) | (a.isnan() & b.isnan())).all())


def _number(value: Any) -> Any:
    """JSON has no infinity."""
    return (
        value if isinstance(value, (int, bool)) else float(f"{value:.9g}") if abs(value) < float("inf") else str(value)
    )


def _there(facts: Any) -> str:
    return "missing" if facts is None else "there"
