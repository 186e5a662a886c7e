"""What a card's arithmetic explains: the reference was run again with it, and that run is compared with the card's.

The imitation lies beside the record, as noise runs do. Where it agrees with the card up to float32 rounding, the
difference is accounted for; what remains is judged by the floor of float32, a thousand times finer than that of HF32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jumar.compare import reader, verdict
from jumar.compare.diff import Stepped
from jumar.compare.precision import short
from jumar.compare.result import Explained, Pair, RecordEntry, Verdict
from jumar.compare.store import Rank
from jumar.tables import numerics, socs
from jumar.tables.numerics import Formats

FOLDER = "model-card"
WORD = "card"
"""First word of `altered` in the record of an imitation."""
_MUCH = 8.0
"""A product is explained where the imitation comes this many times closer."""
_NAMES = {"convolution": "convolutions", "matmul": "matrix products"}
_WORDS = {"hf32": "HF32", "float16": "float16"}


class Judged(NamedTuple):
    """One comparison of two runs."""

    steps: list[Stepped]
    told: Verdict

    @property
    def pairs(self) -> list[Pair]:
        return [pair for step in self.steps for pair in step.pairs]


def default(chip: str) -> Formats:
    """Of a chip whose switches nobody has touched."""
    return numerics.formats(socs.family(socs.known(chip)), lambda _: "")


def formats_of(rank: Rank) -> Formats | None:
    """What the float32 products of a run were computed with; None where it does not say."""
    products = rank.meta.get("products")
    if isinstance(products, dict) and products:
        return Formats(**{name: str(products.get(name, "float32")) for name in Formats._fields})
    words = str(rank.meta.get("altered", "")).split()
    return Formats(*words[1:3]) if words[:1] == [WORD] and len(words) == 3 else None


def matters(entries: Sequence[RecordEntry], formats: Formats) -> bool:
    """Whether there are float32 products that a card computes otherwise."""
    return any(_form(entry, formats) != "float32" for entry in entries)


def find(a: Rank, b: Rank) -> Rank | None:
    """The imitation of B's arithmetic beside A, if there is one and B needs it."""
    wanted = formats_of(b)
    if wanted is None or wanted == Formats() or formats_of(a) == wanted:
        return None
    place = a.path.parent / FOLDER
    if not any(place.glob("rank*/meta.json")):
        return None
    found = next((rank for rank in reader.ranks(place) if rank.number == a.number), None)
    if found is None or formats_of(found) != wanted or found.meta.get("ended", "finished") != "finished":
        return None
    return found if _same_calls(a, found) else None


def explain(plain: Judged, rest: Judged, imitation: Rank, b: Rank, limit: float) -> tuple[Verdict, Explained]:
    """The verdict that both comparisons lead to, and how much of the difference the card's arithmetic accounts for.

    The imitation has a say once it has proved itself: at a product that it brought much closer to the card.
    """
    formats = formats_of(imitation) or Formats()
    before = {(pair.step, pair.a.index): pair for pair in plain.pairs}
    products = [
        pair for pair in rest.pairs if _form(pair.a, formats) != "float32" and (pair.step, pair.a.index) in before
    ]
    proved = [pair for pair in products if pair.over <= limit
              and before[pair.step, pair.a.index].error >= _MUCH * pair.error]  # fmt: skip
    without = max((before[pair.step, pair.a.index].error for pair in proved), default=0.0)
    with_it = max((pair.error for pair in proved), default=0.0)
    explained = Explained(words(formats), len(proved), len(products), without, with_it, fits=bool(proved))
    shorter = plain.told.kind == "curve" and len(imitation.curve) < len(b.curve)
    if not proved or shorter or rest.told.kind == "inconclusive":
        return plain.told, explained
    if not rest.told.differs:
        return _accounted(rest.told, explained), explained
    at = rest.told.pair
    if plain.told.differs or at is None or any(_before(pair, at) for pair in proved):
        message = f"{rest.told.message}; {explained.rule} is already accounted for"
        return Verdict(rest.told.kind, message, rest.told.meaning, at, rest.told.between), explained
    return plain.told, explained


def words(formats: Formats) -> str:
    """Such as `HF32 in float32 convolutions`."""
    parts = [f"{_WORDS[form]} in float32 {_NAMES[kind]}" for kind, form in formats._asdict().items() if form in _WORDS]
    return " and ".join(parts)


def note(explained: Explained) -> str:
    """One sentence about it."""
    if not explained.fits:
        return f"{explained.rule} does not explain the differences: the floor of that rounding is used"
    return (
        f"{explained.rule} explains {explained.proved} of {explained.products} products: their errors of up to"
        f" {explained.without:.2g} come down to {explained.rest:.2g} without it"
    )


def _accounted(told: Verdict, explained: Explained) -> Verdict:
    message = (
        f"the difference is what {explained.rule} explains; without it, {explained.rest:.2g} remains of"
        f" {explained.without:.2g}, within the noise of float32"
    )
    return Verdict("within", message, told.meaning, told.pair)


def _before(pair: Pair, at: Pair) -> bool:
    return (pair.step, verdict.order(pair)) < (at.step, verdict.order(at))


def _form(entry: RecordEntry, formats: Formats) -> str:
    if entry.kind != "op" or not entry.outs or entry.outs[0].dtype != "float32":
        return "float32"
    space = entry.op.partition(".")[0]
    kind = numerics.operands().get(f"{space}::{short(entry.op)}", ("", ()))[0]
    return str(getattr(formats, kind)) if kind else "float32"


def _same_calls(a: Rank, other: Rank) -> bool:
    """Floors are kept by the place of an operator: they hold for a run that calls the same ones."""
    if set(a.steps) - set(other.steps):
        return False
    first, second = (reader.read_step(rank.steps[min(rank.steps)]).entries for rank in (a, other))
    return [entry.op for entry in first] == [entry.op for entry in second]
