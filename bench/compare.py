"""What recording costs, and what a comparison finds: faults put in on purpose, and clean runs in other precisions.

Usage: python bench/compare.py [--json OUT] [--only cost,faults,others,more,clean,quiet] [--without-floor]

`more` and `quiet` are faults and clean runs on recurrent, vision, mixture-of-experts and transformers' models.

Prints each figure with its target; ends with 1 when one is missed. Costs are processor time of one thread, the smallest
of each side, so that other work on the machine weighs on neither.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import compare_models as models
import compare_more
import torch

from jumar.compare import compare as compares
from jumar.compare import floor
from jumar.compare.result import Verdict
from jumar.compare.session import Session

Row = dict[str, Any]
_COST, _BYTES, _FOUND, _ROUNDS = 1.5, 1e6, 9, 3
_SMALL, _TINY, _MANY = 2.0, 3.0, 12
"""Times and rounds of steps of 5 to 20 ms, and of 2 or 3 ms, where what a step costs once counts too."""
_STEPS = (("gpt", 4, _COST), ("cnn", 2, _COST), ("gpt", 1, _SMALL), ("cnn", 1, _SMALL), ("encoder", 2, _SMALL),
          ("patches", 0, _TINY), ("hourglass", 0, _TINY))  # fmt: skip
"""Model, size and the times that recording may take; those without a size are of compare_more.py."""
Train = Callable[[models.Task, int], None]
_SIZES = [*floor.SIZES, *floor.SIZES]
"""Of the noise that each reference is run with."""


def main() -> int:
    parser = argparse.ArgumentParser(description="measure jumar compare")
    parser.add_argument("--json", help="the rows, as a list of objects")
    parser.add_argument("--only", default="cost,faults,others,more,clean,quiet")
    parser.add_argument("--without-floor", action="store_true", help="do not measure the noise of the references")
    options = parser.parse_args()
    if options.without_floor:
        _SIZES.clear()
    from jumar.emulate.glue import probe

    os.environ.update(probe.settings())
    sys.modules.setdefault("torch_npu", None)  # type: ignore[arg-type]  # transformers would look for a card
    torch.set_num_threads(1)
    rows: list[Row] = []
    place = Path(tempfile.mkdtemp(prefix="jumar-bench-"))
    parts = {"cost": cost, "faults": faults, "others": others, "more": more, "clean": clean, "quiet": quiet}
    try:
        for name in options.only.split(","):
            rows += parts[name](place / name)
    finally:
        shutil.rmtree(place)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 1 if any(not row["ok"] for row in rows) else 0


def cost(place: Path) -> list[Row]:
    """A recorded training step against a plain one, and the bytes it writes."""
    rows = []
    for name, size, limit in _STEPS:
        rounds = _ROUNDS if limit == _COST else _MANY
        plain, recorded = (models.task(name, size) if size else compare_more.task(name) for _ in range(2))
        models.train(plain, 1)
        before = [_time(lambda work=plain: models.train(work, 1)) for _ in range(rounds)]
        with Session(place / f"{name}{size}", rounds):
            during = [_time(lambda work=recorded: models.train(work, 1)) for _ in range(rounds)]
        after = [_time(lambda work=plain: models.train(work, 1)) for _ in range(rounds)]
        best = [min(before + after), min(during)]
        files = list((place / f"{name}{size}").rglob("step-*.jrec"))
        largest = max(file.stat().st_size for file in files)
        rows += [
            _row(f"cost {name} {best[0] * 1e3:.0f} ms", best[1] / best[0], limit, "times", "of a step"),
            _row(f"bytes {name}", largest / 1e6, _BYTES / 1e6, "MB", "per step"),
        ]
    return rows


def _time(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def faults(place: Path) -> list[Row]:
    return _faults(place, models.LISTED, "listed")


def others(place: Path) -> list[Row]:
    return _faults(place, models.OTHERS, "other")


def more(place: Path) -> list[Row]:
    return _faults(place, compare_more.MORE, "more")


def _task(name: str) -> models.Task:
    return compare_more.task(name) if name in compare_more.MODELS else models.task(name)


def _faults(place: Path, listed: list[models.Fault], kind: str) -> list[Row]:
    """Each fault in float32, where it must be found, and with products rounded to bfloat16, for information."""
    rows = []
    for precision in ("float32", "bfloat16"):
        found = 0
        for fault in listed:
            work = _task(fault.model)
            work = fault.put(work) or work
            told = _compare(_base(place, fault.model), _run(place, work, precision))
            right = models.found(fault, told)
            found += right
            print(f"  {'found ' if right else 'MISSED'} {precision:9} {fault.name}: {told.kind}: {told.message[:110]}",
                  flush=True)  # fmt: skip
        least = _FOUND * len(listed) // 10 if precision == "float32" else 0
        rows.append(_row(f"{kind} faults, {precision}", found, least, f"of {len(listed)}", "found", more=True))
    return rows


def clean(place: Path) -> list[Row]:
    return _clean(place, ("gpt", "cnn", "encoder", "tagger"))


def quiet(place: Path) -> list[Row]:
    return _clean(place, compare_more.MODELS)


def _clean(place: Path, names: Sequence[str]) -> list[Row]:
    """Runs without a fault in other precisions: none may be called different."""
    rows = []
    alarms = count = 0
    for name in names:
        for label, how in _PRECISIONS.items():
            if name in ("tagger", "recurrent") and label.startswith(("autocast", "all")):
                continue  # oneDNN has no LSTM in these on every processor
            told = _compare(_base(place, name), _run(place, _task(name), *how))
            alarms += told.differs
            count += 1
            over = told.pair.over if told.pair else 0.0
            print(f"  {'ALARM' if told.differs else 'quiet'} {name:9} {label:18} at most {over:.1f} times the floor"
                  f"{': ' + told.message[:150] if told.differs else ''}", flush=True)  # fmt: skip
    rows.append(_row("false alarms", alarms, 0, f"of {count}", "clean runs"))
    return rows


def _autocast(dtype: torch.dtype) -> Train:
    def train(work: models.Task, steps: int) -> None:
        for _ in range(steps):
            work.optimizer.zero_grad()
            with torch.autocast("cpu", dtype=dtype):
                outputs = work.model(work.batch[0])
            work.loss(outputs.float(), work.batch[1]).backward()
            work.optimizer.step()

    return train


def _scaled(work: models.Task, steps: int) -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for _ in range(steps):
        work.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            outputs = work.model(work.batch[0])
        scaler.scale(work.loss(outputs.float(), work.batch[1])).backward()
        scaler.step(work.optimizer)
        scaler.update()


def _threads(work: models.Task, steps: int) -> None:
    torch.set_num_threads(2)
    models.train(work, steps)
    torch.set_num_threads(1)


def _converted(dtype: torch.dtype) -> Train:
    def train(work: models.Task, steps: int) -> None:
        work.model.to(dtype)
        first = work.batch[0].to(dtype) if work.batch[0].is_floating_point() else work.batch[0]
        models.train(work._replace(batch=(first, work.batch[1])), steps)

    return train


_PRECISIONS: dict[str, tuple[Any, ...]] = {
    "bfloat16 products": ("bfloat16",),
    "float16 products": ("float16",),
    "hf32 products": ("hf32",),
    "autocast bfloat16": ("float32", _autocast(torch.bfloat16)),
    "autocast float16": ("float32", _autocast(torch.float16)),
    "autocast, scaler": ("float32", _scaled),
    "two threads": ("float32", _threads),
    "all bfloat16": ("float32", _converted(torch.bfloat16)),
    "all float64": ("float32", _converted(torch.float64)),
}


def _base(place: Path, name: str) -> Path:
    """The reference of a model with two noise runs of each size."""
    folder = place / f"base-{name}"
    if not folder.exists():
        plain = _task(name)
        with Session(folder, 2):
            models.train(plain)
        for number, size in enumerate(_SIZES, 1):
            noisy = _task(name)
            with Session(folder / f"{floor.FLOORS}{number}", 2, noise_unit=size, seed=number):
                models.train(noisy)
    return folder


def _run(place: Path, work: models.Task, precision: str = "float32", train: Train = models.train) -> Path:
    folder = Path(tempfile.mkdtemp(dir=place)) / "run"
    with Session(folder, 2, rounded="" if precision == "float32" else precision):
        train(work, 2)
    return folder


def _compare(first: Path, second: Path) -> Verdict:
    return compares.compare(first, second).verdict


def _row(name: str, value: float, limit: float, unit: str, note: str, more: bool = False) -> Row:
    ok = value >= limit if more else value <= limit
    print(f"{name:28} {value:7.3g} {unit:7} (target {limit:g}) {'ok' if ok else 'MISSED':7} {note}", flush=True)
    return {"name": name, "value": value, "unit": unit, "target": limit, "ok": ok, "note": note}


if __name__ == "__main__":
    sys.exit(main())
