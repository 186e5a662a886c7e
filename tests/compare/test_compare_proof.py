"""SAME needs proof: faults behind operators that only one run calls, the loss of the first step, ranks and indices."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from small import Net, compare, make, run
from torch import nn

from jumar.compare.session import Session

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def _on_card(folder: Path) -> Path:
    """The same record, as if another device had made it: operators that only one run calls are no proof then."""
    for path in folder.glob("rank*/meta.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "device": "npu", "emulated": True}))
    return folder


def _train(folder: Path, loss: Loss = F.cross_entropy, act: Any = None, steps: int = 1) -> Path:
    net, x, y = make()
    if act is not None:
        net.first.up = nn.Sequential(net.first.up, act)  # type: ignore[assignment]
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-2)
    with Session(folder, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            loss(net(x), y).backward()
            optimizer.step()
    return folder


def _summed(out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(out, y, reduction="none").sum()


def _smooth(out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return -(F.one_hot(y, 5) * 0.9 + 0.02).mul(out.log_softmax(-1)).sum(-1).mean()


def _unshifted(out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(out[:-1], y[1:])


@pytest.mark.parametrize("loss", [_summed, _smooth, _unshifted], ids=lambda loss: loss.__name__)
def test_another_loss_is_never_the_same(loss: Loss, tmp_path: Path) -> None:
    result = compare(_train(tmp_path / "a"), _on_card(_train(tmp_path / "b", loss)))
    assert result.floor_source == "none" and result.verdict.differs, result.verdict.message


def test_a_loss_far_apart_is_told_whatever_operators_say(tmp_path: Path) -> None:
    a, b = _train(tmp_path / "a"), _train(tmp_path / "b")
    curve = b / "rank0" / "curve.jsonl"
    curve.write_text(json.dumps({**json.loads(curve.read_text()), "loss": 832.0}) + "\n")
    verdict = compare(a, b).verdict
    assert verdict.kind == "loss" and "the loss of the first step is 832 against" in verdict.message, verdict.message


def _quick(net: Net) -> None:
    def hook(_: object, __: object, out: torch.Tensor) -> torch.Tensor:
        return out + 1e-3 * torch.sigmoid(out)

    net.second.up.register_forward_hook(hook)


def test_a_fault_behind_other_operators_is_found_without_a_floor(tmp_path: Path) -> None:
    """What an operator without a partner computes is no tolerance for what comes after it."""
    verdict = compare(run(tmp_path / "a"), _on_card(run(tmp_path / "b", _quick))).verdict
    assert verdict.kind == "order" and "different operators in `Net.second`" in verdict.message, verdict.message


def test_the_same_in_other_operators_stays_quiet(tmp_path: Path) -> None:
    def split(net: Net) -> None:
        net.second.up.register_forward_hook(lambda _, __, out: out * 0.75 + out * 0.25)

    assert compare(run(tmp_path / "a"), _on_card(run(tmp_path / "b", split))).verdict.answer == "SAME"


def _by_hand(approximate: str, factor: float = 1.0) -> Callable[[Net], Any]:
    """GELU in other operators, on values so small that its variants are almost the same."""

    def erf(x: torch.Tensor) -> torch.Tensor:
        return 0.5 * x * (1 + torch.erf(x / 2**0.5))

    def tanh(x: torch.Tensor) -> torch.Tensor:
        return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))

    def put(net: Net) -> None:
        layer = net.second
        with torch.no_grad():
            layer.up.weight.mul_(factor)
            layer.up.bias.mul_(factor)
        act = {"none": F.gelu, "erf": erf, "tanh": tanh}[approximate]
        layer.forward = lambda x: x + layer.down(act(layer.up(layer.norm(x))))  # type: ignore[method-assign]

    return put


@pytest.mark.parametrize(
    ("act", "factor", "answers"),
    [
        ("erf", 1.0, {"SAME"}),
        ("erf", 0.1, {"SAME"}),
        ("tanh", 1.0, {"DIFFERENT"}),
        ("tanh", 0.2, {"DIFFERENT", "INCONCLUSIVE"}),
    ],
)
def test_an_activation_in_other_operators_is_judged_by_what_it_makes(
    act: str, factor: float, answers: set[str], tmp_path: Path
) -> None:
    reference = run(tmp_path / "a", _by_hand("none", factor))
    verdict = compare(reference, _on_card(run(tmp_path / "b", _by_hand(act, factor)))).verdict
    assert verdict.answer in answers, verdict.message
    if verdict.answer == "INCONCLUSIVE":
        assert "compute what `aten.addmm` of `Net.second" in verdict.message, verdict.message


def test_one_value_over_a_border_is_noise_and_more_is_not() -> None:
    """The gradient of a leaky ReLU jumps where noise turned a value's sign."""
    from jumar.compare import spread
    from jumar.compare.result import Out, RecordEntry

    out = (Out("float16", (6, 16), 0),)

    def entry(op: str) -> RecordEntry:
        return RecordEntry(0, "op", op, "", "backward", "", "", (), {}, out)

    jump = entry("aten.leaky_relu_backward.default")
    allowed = spread._jump(jump, 5e-4, largest=0.1)
    assert 0.013 / allowed < 2 and 0.3 / allowed > 8
    assert spread._jump(jump, 5e-4, largest=0.3) == pytest.approx(0.3 / 8)
    assert spread._jump(jump, 1e-7, largest=0.3) == 0
    assert spread._jump(entry("aten.tanh_backward.default"), 5e-4, largest=0.3) == 0


def test_results_without_a_partner_and_without_a_loss_are_open(tmp_path: Path) -> None:
    net, x, _ = make()
    for name, last in (("a", torch.tanh), ("b", lambda out: out.sigmoid() * out.cos())):
        with torch.no_grad(), Session(tmp_path / name, 1):
            last(net(x))
    verdict = compare(tmp_path / "a", _on_card(tmp_path / "b")).verdict
    assert verdict.answer == "INCONCLUSIVE" and "shows no loss that would decide" in verdict.message, verdict.message


def test_an_index_that_only_one_run_turns_is_named_in_its_block(tmp_path: Path) -> None:
    def picked(turned: bool) -> Callable[[Net], Any]:
        def hook(_: object, __: object, out: torch.Tensor) -> torch.Tensor:
            index = torch.arange(6)
            return out[index.flip(0) if turned else index]

        return lambda net: net.first.up.register_forward_hook(hook)

    verdict = compare(run(tmp_path / "a", picked(False)), _on_card(run(tmp_path / "b", picked(True)))).verdict
    assert verdict.differs and "aten.index.Tensor` of `Net.first`" in verdict.message, verdict.message


def test_lowest_values_of_two_dtypes_are_one_mask(tmp_path: Path) -> None:
    def masked(lowest: float) -> Callable[[Net], Any]:
        def hook(_: object, __: object, out: torch.Tensor) -> torch.Tensor:
            hidden = torch.where(torch.arange(16) < 4, torch.scalar_tensor(lowest), 0.0)
            return out + (out + hidden).softmax(-1)

        return lambda net: net.first.register_forward_hook(hook)

    low, lower = torch.finfo(torch.float16).min, torch.finfo(torch.float32).min
    assert (
        compare(run(tmp_path / "a", masked(lower)), _on_card(run(tmp_path / "b", masked(low)))).verdict.answer == "SAME"
    )


def _rank(folder: Path, number: int, wrong: bool) -> None:
    """A rank by hand: its own part, then what an all-reduce would bring."""
    net, x, y = make(0)
    del y
    if wrong and number == 1:
        net.second.down.register_forward_hook(lambda _, __, out: out.mul_(1.01))
    own = Session(folder, 1)
    with own, torch.no_grad():
        own.recorder.modules.enter(net)
        out = net(x)
        torch.ops.jumar_test.allreduce(out, 1.01 if wrong else 1.0) * 2.0
    meta = folder / "rank0" / "meta.json"
    told = json.loads(meta.read_text())
    meta.write_text(json.dumps({**told, "rank": number, "world": 2}))
    (folder / "rank0").rename(folder.parent / f"rank{number}")


def test_the_rank_with_the_cause_is_shown(tmp_path: Path) -> None:
    from jumar.compare import compare as module

    library = torch.library.Library("jumar_test", "DEF")
    library.define("allreduce(Tensor x, float factor) -> Tensor")
    library.impl("allreduce", lambda x, factor: x * factor, "CPU")
    prefix = module._COLLECTIVES
    try:
        module._COLLECTIVES = (*prefix, "jumar_test.")
        for name, wrong in (("a", False), ("b", True)):
            for number in (0, 1):
                _rank(tmp_path / name / f"made{number}", number, wrong)
            for made in (tmp_path / name).glob("made*"):
                made.rmdir()
        result = compare(tmp_path / "a", tmp_path / "b")
    finally:
        module._COLLECTIVES = prefix
        library._destroy()
    assert result.rank == 1 and "Net.second" in result.verdict.message, result.verdict.message
    note = next(note for note in result.notes if note.startswith("ranks that differ"))
    assert re.match(r"ranks that differ: 2 of 2 \(0, 1\), 1 of them only after a collective; rank 1 is shown", note)


def test_the_floor_of_a_single_number_is_not_the_luck_of_one_noise_run() -> None:
    from jumar.compare.floor import Floor
    from jumar.compare.result import Out, RecordEntry

    def entry(*shape: int) -> RecordEntry:
        return RecordEntry(0, "op", "aten.mean.default", "", "forward", "", "", (), {}, (Out("float32", shape, 0),))

    lucky, unit = Floor("1 run", {2.0**-8: {(0, 0): 1e-9}}), 2.0**-8
    assert lucky.at(0, entry(), entry(), unit, handed=0.002) >= 0.004
    assert lucky.at(0, entry(64), entry(64), unit, handed=0.002) < 1e-6


def test_a_view_with_other_arguments_counts_only_where_a_result_differs(tmp_path: Path) -> None:
    x = torch.randn(3, 4, 4)

    def work(axes: tuple[int, int], factor: float = 1.0) -> torch.Tensor:
        return (x.transpose(*axes) * factor).sum() + 1

    for name, axes, factor in (("a", (1, 2), 1.0), ("b", (-1, -2), 1.0), ("c", (0, 0), 1.5)):
        with Session(tmp_path / name, 1):
            work(axes, factor)
    assert compare(tmp_path / "a", tmp_path / "b").verdict.answer == "SAME"
    assert "transpose" in compare(tmp_path / "a", tmp_path / "c").verdict.message
