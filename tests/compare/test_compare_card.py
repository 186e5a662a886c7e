"""What a card's arithmetic explains is told apart from what it does not: HF32 noise beside planted faults."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import small
import torch
from torch import nn

from jumar.compare import card, model, store
from jumar.compare import compare as compares
from jumar.compare.floor import FLOORS, SIZES
from jumar.compare.result import Comparison
from jumar.compare.session import Session
from jumar.core.errors import UserError
from jumar.report import compare as report
from jumar.tables.numerics import Formats

_A2 = Formats("hf32", "float32")
_RULE = "HF32 in float32 convolutions"
Alter = Callable[[Any, Any, dict[str, Any]], Any]


def train(folder: Path, **options: Any) -> Path:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Tanh(), nn.Flatten(), nn.Linear(8 * 36, 5)
    )
    x, y = torch.randn(4, 3, 10, 10), torch.randint(0, 5, (4,))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    with Session(folder, 2, **options):
        for _ in range(2):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
    return folder


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = train(tmp_path_factory.mktemp("card") / "reference")
    for number, size in enumerate(SIZES, 1):
        train(folder / f"{FLOORS}{number}", noise_unit=size, seed=0)
    train(folder / model.FOLDER, card=_A2)
    return folder


def on_card(folder: Path, alter: Alter, formats: Formats = _A2) -> Path:
    """A record as a card would have made it, with this arithmetic."""
    with mock.patch("jumar.compare.session.Imitated", lambda _: alter):
        train(folder, card=formats)
    store.amend(folder, altered="", products=formats._asdict(), device="npu", emulated=True)
    return folder


class Summed(card.Imitated):
    """Operands as the card has them; the sums of a convolution in another order, here with more digits."""

    def __call__(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if func._schema.name != "aten::convolution":
            return super().__call__(func, args, kwargs)
        x, w, bias = (one.double() for one in (card._rounded(args[0], "hf32"), card._rounded(args[1], "hf32"), args[2]))
        return func(x, w, bias, *args[3:], **kwargs).float()


def scaled(operator: str, factor: float) -> Alter:
    """The card's arithmetic, and one operator whose results are wrong by this factor."""
    plain = Summed(_A2)

    def alter(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        done = plain(func, args, kwargs)
        return done * factor if func._schema.name == operator else done

    return alter


def compare(first: Path, second: Path) -> Comparison:
    return compares.compare(first, second)


def test_what_hf32_explains_is_the_same(reference: Path, tmp_path: Path) -> None:
    found = compare(reference, on_card(tmp_path / "b", Summed(_A2)))
    assert (found.verdict.answer, found.verdict.kind) == ("SAME", "within")
    assert found.verdict.message.startswith(f"the difference is what {_RULE} explains; without it, ")
    assert found.explained is not None
    assert 6 <= found.explained.proved <= found.explained.products == 8
    assert found.explained.without > 1e-4 > 1e-5 > found.explained.rest
    assert any(line.startswith(f"{_RULE} explains ") for line in found.notes)
    document = json.loads(report.json(report.document(found)))
    assert document["explained"]["rule"] == _RULE and document["explained"]["fits"] is True


@pytest.mark.parametrize("factor", [1.0003, 1.02])
@pytest.mark.parametrize("operator", ["aten::relu", "aten::tanh"])
def test_a_fault_beside_hf32_is_found(reference: Path, tmp_path: Path, operator: str, factor: float) -> None:
    """The smaller one is hidden in the noise of HF32: only the model shows it."""
    path = on_card(tmp_path / "b", scaled(operator, factor))
    found = compare(reference, path)
    assert found.verdict.answer == "DIFFERENT"
    assert found.verdict.pair is not None and found.verdict.pair.a.op.startswith(operator.replace("::", "."))
    assert found.verdict.message.endswith(f"{_RULE} is already accounted for")
    with mock.patch("jumar.compare.model.find", lambda a, b: None):
        assert compare(reference, path).verdict.answer == ("DIFFERENT" if factor > 1.01 else "SAME")


def test_a_fault_of_the_first_product_is_found(reference: Path, tmp_path: Path) -> None:
    """The imitation cannot prove itself before it: the floor of HF32 decides."""
    found = compare(reference, on_card(tmp_path / "b", scaled("aten::convolution", 1.01)))
    assert found.verdict.answer == "DIFFERENT"
    assert found.verdict.pair is not None and "convolution" in found.verdict.pair.a.op


def test_another_rounding_is_not_explained(reference: Path, tmp_path: Path) -> None:
    """A card that cuts bits off: as large as HF32, and not the model's."""

    def cut(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        if "convolution" not in func._schema.name:
            return func(*args, **kwargs)
        short = [
            (one.contiguous().view(torch.int32) & ~0xFFF).view(torch.float32)
            if isinstance(one, torch.Tensor) and one.dim() > 1
            else one
            for one in args
        ]
        return func(*short, **kwargs)

    found = compare(reference, on_card(tmp_path / "b", cut))
    with mock.patch("jumar.compare.model.find", lambda a, b: None):
        alone = compare(reference, tmp_path / "b")
    assert found.verdict == alone.verdict
    assert found.explained is not None and not found.explained.fits
    assert f"{_RULE} does not explain the differences: the floor of that rounding is used" in found.notes


def test_a_model_of_another_arithmetic_has_no_say(reference: Path, tmp_path: Path) -> None:
    both = Formats("hf32", "hf32")
    found = compare(reference, on_card(tmp_path / "b", card.Imitated(both), both))
    assert found.explained is None and found.precision == "hf32"


def test_the_rounding_to_expect_is_what_the_record_says(reference: Path, tmp_path: Path) -> None:
    off = on_card(tmp_path / "off", card.Imitated(Formats()), Formats())
    assert compare(reference, off).precision == "float32"
    older = Formats("float16", "float16")
    assert compare(reference, on_card(tmp_path / "older", card.Imitated(older), older)).precision == "float16"


def test_a_program_without_such_products_needs_no_model(tmp_path: Path) -> None:
    steps = store.ranks(small.run(tmp_path / "a"))[0].steps
    entries = store.read_step(steps[0]).entries
    assert not model.matters(entries, model.default("910B3"))
    assert model.matters(entries, model.default("910A"))
    with pytest.raises(UserError, match="unknown SoC name"):
        model.default("nothing")
