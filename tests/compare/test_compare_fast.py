"""The recorder in C++ writes what the one in Python writes, and gives way where it cannot be built."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from small import make
from torch import nn
from torch.utils.checkpoint import checkpoint

import jumar
from jumar.compare import reader
from jumar.compare.fast import library
from jumar.compare.session import Session
from jumar.core.errors import UserError
from jumar.runtime import compiled, prebuilt

Work = Callable[[], object]


def _training() -> None:
    net, x, y = make()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    for _ in range(2):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()


def _autocast_and_checkpoint() -> None:
    net, x, y = make()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = checkpoint(net.first, x.requires_grad_(), use_reentrant=False)
        loss = nn.functional.cross_entropy(net.head(net.second(hidden)).float(), y)
    loss.backward()


def _arguments() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    y = (x * 2 + 1.5) * True
    y = y.masked_fill(x > 3, float("-inf")).to(torch.float16, memory_format=torch.contiguous_format)
    torch.add(x, 1, out=torch.empty(3, 4))
    torch._foreach_mul_([x, y], 2.0)
    torch.zeros(2, dtype=torch.int64, device="cpu").random_(5, generator=torch.Generator().manual_seed(1))
    x[:, 1:3].detach().sum().item()
    x[:, torch.tensor([0, 1])] = 0
    nn.functional.interpolate(x[None, None], scale_factor=2.0, mode="bilinear")


def _rare_tensors() -> None:
    values = torch.randn(4, dtype=torch.complex64).conj() * (2 + 1j)
    (values.imag + torch._efficientzerotensor((4,))).sum()
    (torch.eye(3).to_sparse() @ torch.ones(3, 2)).sum()
    torch.empty(3, device="meta") + 1
    embedding = nn.Embedding(5, 3, sparse=True)
    embedding(torch.tensor([1, 2])).sum().backward()
    with torch.inference_mode():
        nn.Linear(3, 3)(torch.ones(1, 3)).relu_()
    torch.func.vmap(torch.sin)(torch.randn(3, 3))
    nested = torch.nested.nested_tensor([torch.randn(2), torch.randn(3)], layout=torch.jagged)
    (nested + 1).sum()


@pytest.mark.parametrize("work", [_training, _autocast_and_checkpoint, _arguments, _rare_tensors])
def test_both_write_the_same(work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert library.load().library is not None, "the recorder could not be built"
    work()  # torch makes some tensors once, in the first call
    for name in ("fast", "plain"):
        torch.manual_seed(0)
        with Session(tmp_path / name, 2):
            work()
        monkeypatch.setattr(library, "load", lambda: library.Found(None, "a test"))
    fast, plain = (reader.ranks(tmp_path / name)[0] for name in ("fast", "plain"))
    assert (fast.meta["recorder"], plain.meta["recorder"]) == ("C++", "Python: a test")
    assert {key: fast.meta[key] for key in ("device", "dtype", "cut")} == {
        key: plain.meta[key] for key in ("device", "dtype", "cut")
    }
    assert sorted(fast.steps) == sorted(plain.steps)
    for number, path in fast.steps.items():
        one, two = reader.read_step(path), reader.read_step(plain.steps[number])
        assert one.entries == two.entries
        assert [list(entry.args) for entry in one.entries] == [list(entry.args) for entry in two.entries]
        np.testing.assert_array_equal(one.numbers, two.numbers)


def test_operators_of_a_training_step_do_not_come_to_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(
        "jumar.compare.recorder.Recorder._before", lambda self, facts, *_: pytest.fail(f"{facts.name} came to Python")
    )
    net, x, y = make()
    with jumar.record(tmp_path / "rec") as session:
        nn.functional.cross_entropy(net(x), y).backward()
        seen += [str(len(session.recorder.log))]
    assert int(seen[0]) > 30


def test_another_mode_still_sees_its_calls(tmp_path: Path) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    net, x, _ = make()
    with FlopCounterMode(display=False) as alone:
        net(x)
    with jumar.record(tmp_path / "rec"), FlopCounterMode(display=False) as counter:
        net(x)
    assert counter.get_total_flops() == alone.get_total_flops() > 0
    entries = reader.read_step(reader.ranks(tmp_path / "rec")[0].steps[0]).entries
    assert sum(entry.op == "aten.gelu.default" for entry in entries) == 2


def test_without_a_compiler_python_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setenv("JUMAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(prebuilt, "rows", tuple)
    library.load.cache_clear()
    try:
        assert library.load().library is None
        with jumar.record(tmp_path / "rec"):
            torch.ones(3) + 1
    finally:
        library.load.cache_clear()
    (rank,) = reader.ranks(tmp_path / "rec")
    assert len(reader.read_step(rank.steps[0]).entries) == 2
    assert rank.meta["recorder"].startswith("Python: the recorder needs a C++ compiler once for torch")
    told = capsys.readouterr().err
    assert told.startswith("jumar: recording in Python, which takes longer: the recorder needs a C++ compiler once")
    assert told.count("\n") == 1


def test_a_build_that_failed_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler, log = tmp_path / "broken", tmp_path / "log"
    compiler.write_text(f"#!/bin/sh\necho run >> {log}\necho 'error: no' >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("JUMAR_CACHE", str(tmp_path / "cache"))
    build = compiled.Build("a thing", "thing", "libthing.so", "1", (), lambda words, out: [words, str(out)])
    for again, runs in ((False, 1), (False, 1), (True, 2)):
        with pytest.raises(UserError, match="a thing cannot be built: error: no"):
            compiled.library(build, again=again)
        assert len(log.read_text().splitlines()) == runs


@pytest.mark.parametrize("found", [torch.device("meta"), None])
def test_the_accelerator_is_asked_for_as_torch_2_6_takes_it(
    found: torch.device | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = SimpleNamespace(is_available=lambda: found is not None, current_accelerator=lambda: found)
    monkeypatch.setattr(torch, "accelerator", fake)
    assert library._accelerator() == found
