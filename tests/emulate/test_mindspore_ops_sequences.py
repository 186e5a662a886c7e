"""Losses of sequences and recurrent layers: operators that MindSpore's process computes with numpy."""

from __future__ import annotations

import itertools
from ctypes import c_char_p, c_double
from typing import Any

import numpy as np
import pytest
import torch
from stand_ins import Library, drawn, run

pytestmark = pytest.mark.usefixtures("numpy_kernels")


def _transducer(logs: Any, words: Any) -> Any:
    """The loss of one sequence: all orders of its labels between its steps, one by one."""
    steps, paths = logs.shape[0], []
    for places in itertools.combinations(range(steps - 1 + len(words)), len(words)):
        step = label = 0
        total = logs[-1, -1, 0]
        for at in range(steps - 1 + len(words)):
            if at in places:
                total, label = total + logs[step, label, words[label]], label + 1
            else:
                total, step = total + logs[step, label, 0], step + 1
        paths.append(total)
    return -torch.logsumexp(torch.stack(paths), 0)


def test_transducers_take_every_path(card: Library) -> None:
    scores, words = drawn(2, 4, 3, 5), np.array([[1, 2], [3, 0]], np.int32)
    steps, lengths = np.array([4, 3], np.int32), np.array([2, 1], np.int32)
    found, slopes = run(card, "RNNTLoss", [scores, words, steps, lengths],
                        np.zeros(2, np.float32), np.zeros_like(scores), blank_label=0)  # fmt: skip
    x = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
    logs = x.log_softmax(-1)
    true = torch.stack([_transducer(logs[0], words[0]), _transducer(logs[1, :3, :2], words[1, :1])])
    true.sum().backward()  # type: ignore[no-untyped-call]
    np.testing.assert_allclose(found, true.detach().numpy(), rtol=1e-5)
    np.testing.assert_allclose(slopes, x.grad.numpy(), atol=1e-6)  # type: ignore[union-attr]


def _merged(path: Any, blank: int, whole: bool) -> list[int]:
    """The labels of a path; with `whole`, neighbours that are equal are one."""
    kept = [v for at, v in enumerate(path) if not (whole and at and path[at - 1] == v)]
    return [v for v in kept if v != blank]


@pytest.mark.parametrize("merged", [True, False])
@pytest.mark.parametrize("labels", [[1, 1], [0, 1], [2]])
def test_a_label_lasts_or_is_said_again(card: Library, labels: list[int], merged: bool) -> None:
    steps, classes = 4, 4
    scores = drawn(steps, 1, classes)
    places = np.array([[0, at] for at in range(len(labels))], np.int64)
    found, slopes = run(card, "CTCLoss", [scores, places, np.array(labels, np.int32), np.array([steps], np.int32)],
                        np.zeros(1, np.float32), np.zeros_like(scores), ctc_merge_repeated=merged)  # fmt: skip
    x = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
    logs = x.log_softmax(-1)[:, 0]
    paths = [torch.stack([logs[t, v] for t, v in enumerate(path)]).sum()
             for path in itertools.product(range(classes), repeat=steps)
             if _merged(path, classes - 1, merged) == labels]  # fmt: skip
    true = -torch.logsumexp(torch.stack(paths), 0)
    true.backward()  # type: ignore[no-untyped-call]
    np.testing.assert_allclose(found, [true.detach().item()], rtol=1e-5)
    np.testing.assert_allclose(slopes, x.grad.numpy(), atol=1e-6)  # type: ignore[union-attr]


def test_labels_that_do_not_fit_are_refused_or_left_out(card: Library) -> None:
    scores, labels = drawn(2, 1, 4), np.array([0, 1, 2], np.int32)
    inputs = [scores, np.array([[0, 0], [0, 1], [0, 2]], np.int64), labels, np.array([2], np.int32)]
    outputs = [np.ones(1, np.float32), np.ones_like(scores)]
    assert card.by_type("CTCLoss", inputs, outputs) != 0
    assert "3 labels do not fit into 2 steps" in card.error()
    found, slopes = run(card, "CTCLoss", inputs, *outputs, ignore_longer_outputs_than_inputs=True)
    assert found.tolist() == [np.inf] and not slopes.any()  # as on the CPU target
    blank = [scores, np.array([[0, 0]], np.int64), np.array([3], np.int32), np.array([2], np.int32)]
    assert card.by_type("CTCLoss", blank, outputs) != 0
    assert "the label 3, which is the blank" in card.error()


@pytest.mark.parametrize(("kind", "option"), [
    ("DynamicRNN", {"cell_clip": 5.0}), ("DynamicRNN", {"use_peephole": True}), ("DynamicRNN", {"num_proj": 3}),
    ("DynamicGRUV2", {"keep_prob": 0.5}), ("DynamicGRUV2", {"reset_after": False}),
    ("DynamicRNN", {"time_major": False}),
])  # fmt: skip
def test_what_recurrent_layers_leave_out_is_refused_by_name(card: Library, kind: str, option: dict[str, Any]) -> None:
    gates = 4 if kind == "DynamicRNN" else 3
    inputs = [drawn(2, 3, 5), drawn(9 if gates == 4 else 5, gates * 4), drawn(gates * 4)]
    outputs = [np.zeros((2, 3, 4), np.float32) for _ in range(8 if gates == 4 else 6)]
    assert card.by_type(kind, inputs, outputs, **option) != 0
    ((name, value),) = option.items()
    assert f"{name} {value:g} is not emulated" in card.error()


def test_smallest_so_far_along_the_axis_that_is_named(card: Library) -> None:
    x = drawn(3, 4)
    found, places = run(card, "Cummin", [x], np.zeros_like(x), np.zeros(x.shape, np.int32), axis=0)
    true = torch.cummin(torch.from_numpy(x), 0)
    np.testing.assert_array_equal(found, true.values.numpy())
    np.testing.assert_array_equal(places, true.indices.numpy())


@pytest.mark.parametrize("how", ["mean", "sum"])
def test_cross_entropy_has_no_room_for_what_is_not_asked(card: Library, how: str) -> None:
    x, target, weight = drawn(4, 3), np.array([0, 2, 1, 1], np.int64), np.array([1, 0.5, 2], np.float32)
    found, logs, nothing = np.zeros(1, np.float32), np.zeros_like(x), np.zeros(0, np.float32)
    options = [c_char_p(how.encode()), -100, c_double(0.1)]
    rooms = [found, logs, nothing, nothing]
    code = card.call("aclnnCrossEntropyLoss", x, target, weight, *options, c_double(0), False, *rooms)
    assert code == 0, card.error()
    true = torch.nn.functional.cross_entropy(
        *(torch.from_numpy(one) for one in (x, target, weight)), reduction=how, label_smoothing=0.1
    )
    np.testing.assert_allclose(found, [true.item()], rtol=1e-5)
    np.testing.assert_allclose(logs, torch.from_numpy(x).log_softmax(-1).numpy(), rtol=1e-5)
    assert card.call("aclnnCrossEntropyLoss", x, target, weight, *options, c_double(0.5), False, *rooms) != 0
    assert "z-loss" in card.error()
