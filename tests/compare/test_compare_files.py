"""Files that are cut, damaged or something else end in a message; dumps of the vendor's tool are read and written."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from small import Net, compare, run

import jumar
from jumar.compare import overflow, reader, vendor_write
from jumar.core.errors import UserError


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("files") / "rec", steps=1)


def test_no_damage_ends_in_a_traceback(record: Path, tmp_path: Path) -> None:
    data = (record / "rank0" / "step-00000.jrec").read_bytes()
    chance = random.Random(5)
    copy = tmp_path / "rec"
    shutil.copytree(record, copy)
    step = copy / "rank0" / "step-00000.jrec"
    for _ in range(120):
        damaged = bytearray(data)
        if chance.random() < 0.5:
            del damaged[chance.randrange(len(data)) :]
        else:
            place = chance.choice([chance.randrange(40), chance.randrange(len(data))])
            damaged[place] ^= 1 << chance.randrange(8)
        step.write_bytes(damaged)
        with pytest.raises(UserError, match=r"is damaged or truncated|is not a step"):
            compare(record, copy)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"format": 9, "rank": 0}', "\x00\x01", '{"format": 1, "rank": "x"}']
)
def test_a_foreign_meta_file_is_refused(text: str, record: Path, tmp_path: Path) -> None:
    copy = tmp_path / "rec"
    shutil.copytree(record, copy)
    (copy / "rank0" / "meta.json").write_text(text)
    with pytest.raises(UserError, match=r"damaged or not of a record|has format 9"):
        compare(record, copy)


def test_a_cut_curve_is_refused(record: Path, tmp_path: Path) -> None:
    copy = tmp_path / "rec"
    shutil.copytree(record, copy)
    (copy / "rank0" / "curve.jsonl").write_text('{"step": 0, "loss": 1.0}\n{"step": 1, "lo')
    with pytest.raises(UserError, match="damaged or truncated: line 2"):
        compare(record, copy)


def test_a_written_dump_is_read_back(record: Path, tmp_path: Path) -> None:
    (place,) = vendor_write.write(reader.ranks(record)[0], tmp_path / "dump", reader.read_step)
    assert {path.name for path in place.iterdir()} == {"dump.json", "stack.json", "construct.json"}
    data = json.loads((place / "dump.json").read_text())["data"]
    assert "Aten.gelu.0.forward" in data and "Aten.gelu_backward.0.backward" in data
    result = compare(tmp_path / "dump", tmp_path / "dump")
    assert not result.verdict.differs and any("statistics only" in note for note in result.notes)


def test_two_dumps_are_compared(record: Path, tmp_path: Path) -> None:
    def wrong(net: Net) -> None:
        net.second.norm.eps = 1.0

    other = run(tmp_path / "other", wrong, steps=1)
    for name, path in (("a", record), ("b", other)):
        vendor_write.write(reader.ranks(path)[0], tmp_path / name, reader.read_step)
    verdict = compare(tmp_path / "a", tmp_path / "b").verdict
    assert verdict.differs and "native_layer_norm" in verdict.message and "small.py" in verdict.message


def _dump(folder: Path, value: object) -> Path:
    place = folder / "step0" / "rank0"
    place.mkdir(parents=True)
    (place / "dump.json").write_text(value if isinstance(value, str) else json.dumps(value))
    return folder


def test_a_dump_with_modules_parameters_and_gradients_is_read(tmp_path: Path) -> None:
    def tensor(norm: float) -> dict[str, object]:
        return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [4, 2], "Max": norm, "Min": 0.0,
                "Mean": norm / 4, "Norm": norm, "requires_grad": True}  # fmt: skip

    def dump(name: str, weight: float, out: float) -> Path:
        return _dump(tmp_path / name, {"task": "statistics", "level": "mix", "framework": "pytorch", "data": {
            "Module.blocks.2.fc.Linear.forward.0": {"input_args": [tensor(1.0), None], "input_kwargs": {},
                                                    "output": [tensor(out)], "parameters": {"weight": tensor(weight)}},
            "Functional.gelu.0.forward": {"input_args": [tensor(out)],
                                          "input_kwargs": {"approximate": {"type": "str", "value": "none"}},
                                          "output": [tensor(out)]},
            "Module.blocks.2.fc.Linear.parameters_grad": {"weight": [tensor(3.0)]},
        }})  # fmt: skip

    base = dump("a", 2.0, 5.0)
    assert compare(base, dump("b", 2.1, 5.2)).verdict.kind == "weights"
    found = compare(base, dump("c", 2.0, 5.5)).verdict
    assert found.kind == "operator" and "blocks.2.fc" in found.message


def test_a_dump_of_whole_tensors_is_sketched_and_knows_modules_and_lines(tmp_path: Path) -> None:
    """Two tensors of the same norm, mean and extremes: statistics alone would call them equal."""

    def dump(name: str, out: torch.Tensor) -> Path:
        told = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [64], "Max": 1.0, "Min": -1.0, "Mean": 0.0,
                "Norm": 5.0, "requires_grad": False}  # fmt: skip
        call = "Functional.gelu.0.forward"
        folder = _dump(tmp_path / name, {"task": "tensor", "level": "mix", "framework": "pytorch", "data": {
            call: {"input_args": [[{**told, "data_name": "in.pt"}]], "input_kwargs": {},
                   "output": [{**told, "data_name": "out.pt"}]}}})  # fmt: skip
        place = folder / "step0" / "rank0"
        frames = [
            "File /x/site-packages/torch/nn/functional.py, line 9, in gelu",
            "File /x/model.py, line 5, in forward",
        ]
        (place / "stack.json").write_text(json.dumps({"0": [[call], frames]}))
        (place / "construct.json").write_text(json.dumps({call: "Module.blocks.2.MLP.forward.0"}))
        (place / "dump_tensor_data").mkdir()
        torch.save(torch.linspace(-1, 1, 64), place / "dump_tensor_data" / "in.pt")
        torch.save(out, place / "dump_tensor_data" / "out.pt")
        return folder

    same = torch.linspace(-1, 1, 64)
    result = compare(dump("a", same), dump("b", same.flip(0)) / "step0")
    assert result.verdict.kind == "operator" and not any("statistics" in note for note in result.notes)
    assert "`Functional.gelu` of `blocks.2` at /x/model.py:5" in result.verdict.message
    assert result.verdict.pair is not None and result.verdict.pair.cosine < -0.9


@pytest.mark.parametrize("value", ["", "{", "[1]", {"data": 3}, {"data": {"a.b.0.forward": 7}}, {"no": 1},
                                   {"data": {"a.b.0.forward": {"output": [{"shape": ["x"]}]}}}])  # fmt: skip
def test_a_damaged_dump_is_refused(value: object, tmp_path: Path) -> None:
    folder = _dump(tmp_path / "dump", value)
    with pytest.raises(UserError, match=r"damaged|not a dump"):
        compare(folder, folder)


def test_the_first_overflow_is_named_and_masks_are_not(tmp_path: Path) -> None:
    def work(scale: float) -> Callable[[], object]:
        def run_() -> object:
            mask = torch.zeros(4, 4).masked_fill(torch.ones(4, 4).triu(1).bool(), float("-inf"))
            return (torch.full((4, 4), scale).half() * 300 + 1).float() + mask

        return run_

    for rank, scale in enumerate((1.0, 1000.0)):
        with jumar.record(tmp_path / "one" / str(rank)):
            work(scale)()
        shutil.move(tmp_path / "one" / str(rank) / "rank0", tmp_path / f"rec-rank{rank}")
    both = tmp_path / "rec"
    both.mkdir()
    for rank in range(2):
        shutil.move(tmp_path / f"rec-rank{rank}", both / f"rank{rank}")
        meta = json.loads((both / f"rank{rank}" / "meta.json").read_text())
        (both / f"rank{rank}" / "meta.json").write_text(json.dumps({**meta, "rank": rank}))
    found = overflow.first(reader.ranks(both))
    assert [(one.rank, one.entry.op, one.inf) for one in found] == [(1, "aten.mul.Tensor", 16)]
    assert found[0].largest_in == 1000
