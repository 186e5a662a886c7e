"""What a record holds: every operator, whatever way it was called, with its module and line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from small import Net, make, run
from torch.nn.functional import gelu
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

import jumar
from jumar.compare import overflow, reader
from jumar.compare.result import RecordEntry
from jumar.compare.session import Session
from jumar.core.errors import UserError


def _entries(folder: Path, step: int = 0) -> list[RecordEntry]:
    return reader.read_step(reader.ranks(folder)[0].steps[step]).entries


def _ops(entries: list[RecordEntry]) -> list[str]:
    return [entry.op for entry in entries if entry.kind == "op"]


def _record(tmp_path: Path, work: Callable[[], object]) -> list[RecordEntry]:
    with jumar.record(tmp_path / "rec"):
        work()
    return _entries(tmp_path / "rec")


def test_both_passes_have_module_and_line(tmp_path: Path) -> None:
    entries = _entries(run(tmp_path / "rec"))
    forward = next(entry for entry in entries if entry.op == "aten.gelu.default")
    backward = [entry for entry in entries if entry.op == "aten.gelu_backward.default"]
    assert (forward.module, forward.phase) == ("Net.first", "forward")
    assert [entry.module for entry in backward] == ["Net.second", "Net.first"]
    assert {entry.phase for entry in backward} == {"backward"}
    assert forward.where == backward[-1].where and Path(forward.where.rpartition(":")[0]).name == "small.py"
    names = {(entry.kind, entry.name) for entry in entries}
    assert {("weight", "first.up.weight"), ("grad", "first.up.weight"), ("state", "exp_avg of head.bias")} <= names


def test_any_import_style_is_seen(tmp_path: Path) -> None:
    x = torch.randn(4)
    entries = _record(tmp_path, lambda: torch.ops.aten.tanh(gelu(x)))
    assert _ops(entries) == ["aten.gelu.default", "aten.tanh.default"]


def test_views_and_copies_stand_for_their_source(tmp_path: Path) -> None:
    x = torch.randn(4, 6)

    def work() -> torch.Tensor:
        return x.clone().t()[0].exp()

    entries = _record(tmp_path, work)
    assert [entry.kind for entry in entries] == ["input", "view", "view", "view", "op"]
    assert entries[-1].inputs == (0,) and entries[-1].shapes == ((4,),)


def test_in_place_results_replace_what_was_there(tmp_path: Path) -> None:
    x = torch.ones(3)

    def work() -> torch.Tensor:
        x.mul_(2)
        return x + 1

    entries = _record(tmp_path, work)
    assert entries[2].inputs == (1,)
    step = reader.read_step(reader.ranks(tmp_path / "rec")[0].steps[0])
    assert [step.numbers[entry.outs[0].row][1] for entry in step.entries] == [1, 2, 3]


def test_what_is_only_written_has_no_numbers(tmp_path: Path) -> None:
    """Memory that nobody filled yet holds anything, such as the buckets of DistributedDataParallel."""
    room, other = torch.full((3,), float("nan")), torch.full((3,), float("nan"))
    x = torch.ones(3)
    entries = _record(tmp_path, lambda: (room.copy_(x), torch.add(x, 1, out=other)))
    assert [(entry.kind, entry.outs[0].row >= 0) for entry in entries] == [
        ("input", False), ("input", True), ("op", True), ("input", False), ("op", True),
    ]  # fmt: skip


def test_the_settings_of_an_optimizer_are_recorded_in_every_step(tmp_path: Path) -> None:
    entries = _entries(run(tmp_path / "rec"), 1)
    settings = next(entry for entry in entries if entry.op == "optimizer.AdamW")
    assert settings.args["lr"] == 1e-2 and settings.args["betas"] == [0.9, 0.999] and settings.phase == "optimizer"
    assert "small.py" in settings.where
    assert not any(entry.op == "aten.addcdiv_.default" for entry in entries)
    assert any(entry.op == "aten.addcdiv_.default" for entry in _entries(tmp_path / "rec", 0))


def test_recomputed_layers_are_recorded_in_their_module(tmp_path: Path) -> None:
    net, x, _ = make()

    def work() -> None:
        checkpoint(net.first, x.requires_grad_(), use_reentrant=False).sum().backward()

    gelus = [entry for entry in _record(tmp_path, work) if entry.op == "aten.gelu.default"]
    assert [(entry.phase, entry.module) for entry in gelus] == [("forward", "Layer"), ("backward", "Layer")]


def test_steps_end_at_the_optimizer_and_later_ones_keep_the_curve(tmp_path: Path) -> None:
    net, x, y = make()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with jumar.record(tmp_path / "rec", steps=2):
        for _ in range(5):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
    rank = reader.ranks(tmp_path / "rec")[0]
    assert sorted(rank.steps) == [0, 1] and [row.step for row in rank.curve] == [0, 1, 2, 3, 4]
    losses = [row.loss for row in rank.curve]
    assert all(loss is not None for loss in losses) and losses[0] > losses[-1]  # type: ignore[operator]
    assert all(row.grad_norm and row.grad_norm > 0 for row in rank.curve)


def test_a_scaled_loss_is_recorded_unscaled_and_autocast_shows_its_types(tmp_path: Path) -> None:
    net, x, y = make()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    with jumar.record(tmp_path / "rec", steps=1):
        with torch.autocast("cpu", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(net(x).float(), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    rank = reader.ranks(tmp_path / "rec")[0]
    assert rank.curve[0].loss == pytest.approx(float(loss.detach()), rel=1e-5)
    assert "float16" in rank.meta["dtype"]


def test_gradients_that_were_clipped_together_are_the_clipped_ones(tmp_path: Path) -> None:
    net, x, y = make()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with jumar.record(tmp_path / "rec", steps=1):
        torch.nn.functional.cross_entropy(net(x), y).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 0.01, foreach=True)
        optimizer.step()
    step = reader.read_step(reader.ranks(tmp_path / "rec")[0].steps[0])
    norms = [step.numbers[entry.outs[0].row][3] for entry in step.entries if entry.kind == "grad"]
    assert sum(norm**2 for norm in norms) ** 0.5 == pytest.approx(0.01, rel=1e-3)
    clip = next(entry for entry in step.entries if entry.op.startswith("aten._foreach_mul_"))
    assert clip.phase == "backward" and len(clip.outs) == len(norms)


def test_a_watch_keeps_the_step_that_overflows_and_ends_there(tmp_path: Path) -> None:
    net, x, _ = make()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e4)
    with pytest.raises(SystemExit), Session(tmp_path / "rec", 100, watch=True):
        for _ in range(20):
            optimizer.zero_grad()
            (net(x) ** 2).sum().backward()
            optimizer.step()
    rank = reader.ranks(tmp_path / "rec")[0]
    (found,) = overflow.first([rank])
    assert list(rank.steps) == [found.step] and 0 < found.step < 19
    assert found.inf + found.nan > 0 and found.entry.op


def test_workers_of_a_loader_leave_no_trace(tmp_path: Path) -> None:
    net, x, y = make()
    loader = DataLoader(TensorDataset(x, y), batch_size=3, num_workers=1, multiprocessing_context="fork")

    def work() -> None:
        for batch, _ in loader:
            net(batch)

    entries = _record(tmp_path, work)
    assert [child.name for child in (tmp_path / "rec").iterdir()] == ["rank0"]
    assert _ops(entries).count("aten.gelu.default") == 4


def test_compiled_code_runs_eagerly_and_is_seen(tmp_path: Path) -> None:
    net, x, _ = make()
    compiled = torch.compile(net, backend="eager")
    assert "aten.gelu.default" in _ops(_record(tmp_path, lambda: compiled(x)))


def test_recording_changes_no_result(tmp_path: Path) -> None:
    def train(net: Net, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
        torch.nn.functional.cross_entropy(torch.nn.functional.dropout(net(x), 0.5), y).backward()
        optimizer.step()
        return torch.nn.utils.parameters_to_vector(net.parameters())

    plain = train(*make())
    with jumar.record(tmp_path / "rec"):
        recorded = train(*make())
    assert torch.equal(plain, recorded)


def test_hooks_are_gone_afterwards(tmp_path: Path) -> None:
    before = torch.autograd.backward
    run(tmp_path / "rec")
    assert torch.autograd.backward is before
    assert not torch.nn.modules.module._global_forward_pre_hooks
    net, x, _ = make()
    net(x)
    assert sorted(reader.ranks(tmp_path / "rec")[0].steps) == [0, 1]


def test_a_program_that_fails_leaves_what_it_did(tmp_path: Path) -> None:
    net, x, _ = make()
    with pytest.raises(ZeroDivisionError), jumar.record(tmp_path / "rec"):
        net(x)
        raise ZeroDivisionError
    assert "aten.gelu.default" in _ops(_entries(tmp_path / "rec"))


def test_tensors_of_one_operator_are_kept_on_demand(tmp_path: Path) -> None:
    x = torch.randn(4)
    with jumar.record(tmp_path / "rec", tensors=(1,)):
        y = x.exp()
    kept = torch.load(tmp_path / "rec" / "rank0" / "tensors" / "op1.pt", weights_only=True)
    assert torch.equal(kept["inputs"][0], x) and torch.equal(kept["outputs"][0], y)


def test_a_record_is_not_overwritten_by_chance(tmp_path: Path) -> None:
    run(tmp_path / "rec")
    with pytest.raises(UserError, match="already holds a record"):
        jumar.record(tmp_path / "rec")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("x")
    with pytest.raises(UserError, match="is not a record"):
        jumar.record(tmp_path / "other", overwrite=True)
    with jumar.record(tmp_path / "rec", overwrite=True):
        torch.ones(2).exp()
    assert len(_entries(tmp_path / "rec")) == 2


def test_many_tensors_make_narrow_sketches(tmp_path: Path) -> None:
    def work() -> None:
        x = torch.randn(300)
        for _ in range(1500):
            x = x * 1.0001

    _record(tmp_path, work)
    step = reader.ranks(tmp_path / "rec")[0].steps[0]
    assert step.stat().st_size < 1_000_000
    assert reader.read_step(step).numbers.shape[1] == 6 + 128
