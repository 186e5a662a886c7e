"""How the judge of MindSpore's networks reads what they said, and the operators that only they needed."""

from __future__ import annotations

import collections
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")

from stand_ins import Library  # noqa: E402


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "tools"))


def test_losses_are_compared_step_by_step(tools: None) -> None:
    import mindspore_networks as networks

    cpu = {"losses": [[2.0], [1.0]]}
    assert networks.verdict({"losses": [[2.0], [1.0005]]}, cpu, 1e-3)["state"] == "equal"
    assert networks.verdict({"losses": [[2.0], [1.1]]}, cpu, 1e-3)["state"] == "differs"
    assert networks.verdict({"losses": [[2.0], [float("nan")]]}, cpu, 1e-3)["state"] == "differs"
    assert networks.verdict({"losses": [[2.0]]}, {"error": "none"}, 1e-3) == {"state": "runs"}
    assert networks.verdict({"error": "none"}, cpu, 1e-3) == {"state": "fails"}
    assert networks.apart([[2.0], [1.1]], cpu["losses"]) == pytest.approx(0.1)


def test_a_refusal_of_the_emulator_is_the_reason(tools: None) -> None:
    import mindspore_networks as networks

    said = "jumar: `aclnnFoo` is not emulated (state: refused)\nRuntimeError: Launch kernel failed\nother\n"
    assert networks.last_error(said) == "jumar: `aclnnFoo` is not emulated (state: refused)"
    assert networks.last_error("ValueError: first\nTypeError: second\nnote\n") == "TypeError: second"


def test_a_change_by_hand_must_fit(tools: None, tmp_path: Path) -> None:
    import mindspore_networks as networks

    (tmp_path / "net.py").write_text("x = old(1)\n")
    row = {"hand": [{"file": "net.py", "old": "old(", "new": "new(", "reason": {}}]}
    networks.by_hand(tmp_path, row)
    assert (tmp_path / "net.py").read_text() == "x = new(1)\n"
    with pytest.raises(SystemExit):
        networks.by_hand(tmp_path, row)


def test_the_table_has_two_equal_halves(tools: None) -> None:
    import mindspore_networks as networks

    rows = networks.table()
    halves = collections.Counter(row["half"] for row in rows)
    assert set(halves) == {"held", "tuned"} and halves["held"] == halves["tuned"] >= 10
    assert len({row["name"] for row in rows}) == len(rows)
    assert all(row["steps"] > 1 and set(row["what"]) == {"en", "zh"} for row in rows)


def test_inputs_follow_their_words(tools: None) -> None:
    import mindspore_networks_worker as worker

    rng = np.random.default_rng(0)
    assert worker.made(rng, ["int64", "6x2", "pairs", "3"]).tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    drawn = worker.made(rng, ["int32", "50", "2", "5"])
    assert drawn.dtype == np.int32
    assert set(drawn.tolist()) == {2, 3, 4}
    assert worker.made(rng, ["float32", "2x3", "ones"]).sum() == 6


@pytest.mark.parametrize("kind", ["Conv3DTranspose", "Conv3DTransposeD"])
def test_a_volume_is_convolved_backwards(card: Library, numpy_kernels: None, kind: str) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    x, weight = (rng.standard_normal(shape).astype("float32") for shape in ((1, 4, 3, 4, 5), (4, 2, 2, 3, 3)))
    expected = torch.nn.functional.conv_transpose3d(torch.tensor(x), torch.tensor(weight), stride=2, padding=(0, 1, 1))
    out = np.zeros(tuple(expected.shape), "float32")
    size: list[Any] = [] if kind.endswith("D") else [np.array(out.shape, "int32")]
    options = {"strides": [1, 1, 2, 2, 2], "pads": [0, 0, 1, 1, 1, 1], "dilations": [1] * 5, "data_format": "NCDHW"}
    assert card.by_type(kind, [*size, x, weight], [out], groups=1, **options) == 0, card.error()
    assert np.allclose(out, expected.numpy(), atol=1e-4)
