"""Faults are found with the right operator, and clean runs are left alone."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import torch
from small import Change, Net, compare, make, run

from jumar.compare import arguments, curve, reproducer
from jumar.compare.result import Curve, Out, RecordEntry
from jumar.compare.session import Session


def _tanh(net: Net) -> None:
    net.second.approximate = "tanh"


def _eps(net: Net) -> None:
    net.first.norm.eps = 0.1


def _scale_weight(net: Net) -> None:
    with torch.no_grad():
        net.second.up.weight.mul_(1.05)


def _round(net: Net) -> None:
    net.first.up.register_forward_hook(lambda _, __, out: out.bfloat16().float())


def _kernel(net: Net) -> None:
    """A kernel that is wrong: same calls, other numbers."""
    net.second.down.register_forward_hook(lambda _, __, out: out.mul_(1.001))


FAULTS: list[tuple[Change, str, str]] = [
    (_tanh, "arguments", r"aten.gelu` of `Net.second`.*approximate: none -> tanh"),
    (_eps, "arguments", r"native_layer_norm` of `Net.first.norm`.*eps: 1e-05 -> 0.1"),
    (_scale_weight, "weights", r"weight `second.up.weight` differs before the first step"),
    (_round, "order", r"aten.gelu` of `Net.first`.*just before it the runs call different operators"),
    (_kernel, "order", r"aten.add.Tensor` of `Net.second`"),
]


@pytest.mark.parametrize(("change", "kind", "message"), FAULTS, ids=lambda value: getattr(value, "__name__", ""))
def test_faults_are_named(change: Change, kind: str, message: str, reference: Path, tmp_path: Path) -> None:
    verdict = compare(reference, run(tmp_path / "b", change)).verdict
    assert verdict.kind == kind, verdict.message
    assert re.search(message, verdict.message)
    assert verdict.differs


def test_an_operator_more_counts_where_its_value_is_used(reference: Path, tmp_path: Path) -> None:
    def used(net: Net) -> None:
        net.first.up.register_forward_hook(lambda _, __, out: torch.where(out.abs() < 1e-6, 0.0, out * 1.0000001))

    def printed(net: Net) -> None:
        net.first.up.register_forward_hook(lambda _, __, out: str(out.abs().max()) and None)

    verdict = compare(reference, run(tmp_path / "used", used)).verdict
    assert verdict.kind == "order" and "within the noise" in verdict.message, verdict.message
    assert any("aten.where" in line for line in verdict.between)
    assert not compare(reference, run(tmp_path / "printed", printed)).verdict.differs


def test_an_argument_that_changes_the_shape_is_named(tmp_path: Path) -> None:
    def best(count: int) -> Change:
        return lambda net: net.first.register_forward_hook(lambda _, __, out: out + out.topk(count).values.sum(1, True))

    verdict = compare(run(tmp_path / "a", best(2)), run(tmp_path / "b", best(3))).verdict
    assert verdict.kind == "arguments" and "k: 2 -> 3" in verdict.message, verdict.message


def test_the_factor_of_a_scaler_is_no_difference(reference: Path, tmp_path: Path) -> None:
    net, x, y = make()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)
    with Session(tmp_path / "b", 2):
        for _ in range(2):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                out = net(x)
            scaler.scale(torch.nn.functional.cross_entropy(out.float(), y)).backward()
            scaler.step(optimizer)
            scaler.update()
    result = compare(reference, tmp_path / "b")
    assert not result.verdict.differs and result.precision == "float16", result.verdict.message


def test_another_seed_is_another_weight(reference: Path, tmp_path: Path) -> None:
    verdict = compare(reference, run(tmp_path / "b", lambda net: net.head.reset_parameters())).verdict
    assert verdict.kind == "weights" and "head.weight" in verdict.message


@pytest.mark.parametrize("rounded", ["bfloat16", "float16", "hf32"])
def test_fewer_bits_are_no_fault(rounded: str, reference: Path, tmp_path: Path) -> None:
    result = compare(reference, run(tmp_path / "b", rounded=rounded))
    assert result.verdict.kind == "within", result.verdict.message
    assert result.precision == rounded
    assert max(pair.error for pair in result.pairs) > 1e-5


def test_the_same_run_is_the_same(reference: Path, tmp_path: Path) -> None:
    assert compare(reference, run(tmp_path / "b")).verdict.kind == "same"


def test_without_a_floor_a_fault_is_found_and_the_lack_is_said(tmp_path: Path) -> None:
    result = compare(run(tmp_path / "a"), run(tmp_path / "b", _scale_weight))
    assert result.verdict.kind == "weights"
    assert any("no noise floor" in note for note in result.notes)


def test_other_data_is_told_before_any_operator(reference: Path, tmp_path: Path) -> None:
    verdict = compare(reference, run(tmp_path / "b", factor=1.5)).verdict
    assert verdict.kind == "inputs" and "float32[6, 16]" in verdict.message


def test_random_numbers_are_told_apart_from_faults(tmp_path: Path) -> None:
    def dropout(seed: int) -> Change:
        def change(net: Net) -> None:
            def hook(_: object, __: object, out: torch.Tensor) -> torch.Tensor:
                torch.manual_seed(seed)
                return torch.dropout(out, 0.5, True)

            net.first.register_forward_hook(hook)

        return change

    result = compare(run(tmp_path / "a", dropout(1)), run(tmp_path / "b", dropout(2)))
    assert result.verdict.kind == "random", result.verdict.message


def test_the_reproducer_runs_alone(reference: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["reproduce.py", "cpu"])
    result = compare(reference, run(tmp_path / "b", _eps))
    assert "torch.ops.aten.native_layer_norm.default(" in result.reproducer
    said: list[str] = []
    code = compile(result.reproducer, "reproduce.py", "exec")
    exec(code, {"print": lambda *words: said.append(" ".join(map(str, words))), "__name__": "__main__"})
    assert said and "relative error" in said[0]
    assert (
        reproducer._value(["-inf", True, "$1", "torch.float16"]) == '[float("-inf"), True, tensors[1], torch.float16]'
    )


def _call(**args: object) -> RecordEntry:
    return RecordEntry(0, "op", "aten.x.default", "", "forward", "", "", (), dict(args), (Out("float32", (2, 3)),))


@pytest.mark.parametrize(
    ("first", "second", "apart"),
    [
        ({"eps": 1e-5}, {"eps": 1e-6}, True),
        ({"scale": 0.20412414523193154}, {"scale": 0.2041241340637207}, False),
        ({"scale": None}, {"scale": 0.3}, True),
        ({"dim": -1}, {"dim": 1}, False),
        ({"dim": -1}, {"dim": 0}, True),
        ({"dtype": "torch.float32"}, {"dtype": "torch.bfloat16"}, False),
        ({"other": "$1"}, {"other": "$2"}, False),
        ({"size": [2, 3]}, {"size": [3, 2]}, True),
        ({}, {"approximate": "tanh"}, True),
    ],
)
def test_arguments_that_differ(first: dict[str, object], second: dict[str, object], apart: bool) -> None:
    assert bool(arguments.differ(_call(**first), _call(**second))) is apart


def test_a_run_that_leaves_the_envelope_is_told() -> None:
    a = [Curve(step, 3 - step / 10, 1.0) for step in range(10)]
    near = [Curve(row.step, row.loss + 0.01, 1.01) for row in a]  # type: ignore[operator]
    away = [Curve(row.step, row.loss + 0.1 * row.step, 1.0) for row in a]  # type: ignore[operator]
    assert curve.judge(a, near, [near], 4) is None
    found = curve.judge(a, away, [near], 4)
    assert found is not None and found.kind == "curve" and "leaves the envelope" in found.message
    assert curve.judge(a, away, [], 4) is None


def _overflows(net: Net) -> None:
    net.first.down.register_forward_hook(lambda _, __, out: (out * 1e7).half().float() / 1e7)


def test_an_overflow_is_named_where_it_is_made(reference: Path, tmp_path: Path) -> None:
    verdict = compare(reference, run(tmp_path / "b", _overflows)).verdict
    assert verdict.kind == "overflow"
    assert re.match(
        r"`aten._to_copy` of `Net.first` at .* makes inf or nan in B only; `aten.native_layer_norm", verdict.message
    )
    assert "float16 holds values up to 65504, and " in verdict.meaning


@pytest.mark.parametrize("measured", [False, True])
def test_one_norm_in_bfloat16_is_found(measured: bool, reference: Path, tmp_path: Path) -> None:
    first = reference if measured else run(tmp_path / "a")
    other = run(tmp_path / "b", _in_bfloat16)
    verdict = compare(first, other).verdict
    assert verdict.differs, verdict.message
    assert "`Net.second" in verdict.message


def _in_bfloat16(net: Net) -> None:
    def rounded(x: torch.Tensor) -> torch.Tensor:
        norm = net.second.norm
        narrow = torch.nn.functional.layer_norm(x.bfloat16(), (16,), norm.weight.bfloat16(), norm.bias.bfloat16())
        return narrow.float()

    net.second.norm.forward = rounded  # type: ignore[method-assign]


def _frozen(net: Net) -> None:
    net.second.norm.requires_grad_(False)


def _detached(net: Net) -> None:
    net.first.up.register_forward_hook(lambda _, __, out: out.detach())


@pytest.mark.parametrize(("change", "name"), [(_frozen, "second.norm.weight"), (_detached, "first.norm.weight")])
def test_a_missing_gradient_is_named(change: Change, name: str, tmp_path: Path) -> None:
    verdict = compare(run(tmp_path / "a"), run(tmp_path / "b", change)).verdict
    assert verdict.kind == "gradients", verdict.message
    assert re.match(rf"the weight `{name}` and \d more get a gradient in A only", verdict.message)
