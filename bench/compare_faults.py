"""What `jumar compare` finds of faults that nobody listed, and how often it is wrong about clean runs.

Usage: python bench/compare_faults.py [--half tune|held|both|new|third] [--floor] [--models t5,gan] [--json OUT]

Each fault and each clean run is compared as if another device had made it, so that operators alone prove nothing. The
faults are split in two halves by a seed: rules are tuned on one and judged on the other; `new` are those of
compare_new_faults.py on the same models, `third` those of compare_third_faults.py on eight others. Ends with 1 if a
fault is called SAME or a clean run is called DIFFERENT.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from jumar.runtime.hooks.alone import without_backends

with without_backends():
    import torch

from compare_composed import functions
from compare_fault_models import MODELS, Fault
from compare_new_faults import NEW
from compare_third_faults import THIRD
from torch.utils.checkpoint import checkpoint

from jumar.compare import compare as compares
from jumar.compare.floor import FLOORS, SIZES
from jumar.compare.result import Verdict
from jumar.compare.session import Session
from jumar.emulate.glue import probe

_SPLIT = 13
CLEAN: dict[str, dict[str, Any]] = {
    "the same": {}, "products in bfloat16": {"rounded": "bfloat16"}, "products in hf32": {"rounded": "hf32"},
    "float16 autocast": {"cast": torch.float16}, "bfloat16 autocast": {"cast": torch.bfloat16},
    "checkpointing": {"recompute": True}, "other operators": {"composed": True},
    "those in bfloat16": {"composed": True, "rounded": "bfloat16"},
}  # fmt: skip


def record(name: str, folder: Path, fault: str = "", cast: torch.dtype | None = None, *, recompute: bool = False,
           composed: bool = False, card: bool = False, steps: int = 2, **options: Any) -> Path:  # fmt: skip
    """A record of one model; with `card`, as another device would have made it."""
    torch.manual_seed(0)
    work, faults = {**MODELS, **THIRD}[name]()
    for one in (*faults, *NEW.get(name, ())):
        if one.name == fault:
            one.put(work)
    if recompute:
        _recompute(work.model)
    work.model.train()
    optimizer = work.optimizer(work.model)
    with functions() if composed else nullcontext(), Session(folder, steps, **options):
        for _ in range(steps):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=cast) if cast else nullcontext():
                loss = work.step()
            loss.backward()
            work.after_backward(work.model)
            optimizer.step()
    if card:
        path = folder / "rank0" / "meta.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "device": "npu", "emulated": True}))
    return folder


def _recompute(model: torch.nn.Module) -> None:
    """Gradient checkpointing: as transformers does it, or of every block in a list."""
    if hasattr(model, "gradient_checkpointing_enable"):
        model.gradient_checkpointing_enable()
        return
    blocks = [one for each in model.children() if isinstance(each, torch.nn.ModuleList) for one in each]
    for block in blocks:
        block.forward = partial(checkpoint, block.forward, use_reentrant=False)  # type: ignore[method-assign]


def reference(name: str, folder: Path, *, floor: bool) -> Path:
    record(name, folder)
    for number, size in enumerate(SIZES, 1):
        if floor:
            record(name, folder / f"{FLOORS}{number}", noise_unit=size, seed=number)
    return folder


def half(wanted: str) -> list[tuple[str, Fault]]:
    """The faults of one half, all of them, or the new ones."""
    if wanted == "new":
        return [(name, fault) for name, faults in NEW.items() for fault in faults]
    if wanted == "third":
        return [(name, fault) for name, make in THIRD.items() for fault in make()[1]]
    faults = [(name, fault) for name, make in MODELS.items() for fault in make()[1]]
    random.Random(_SPLIT).shuffle(faults)
    middle = len(faults) // 2
    return {"tune": faults[:middle], "held": faults[middle:], "both": faults}[wanted]


def named(verdict: Verdict, fault: Fault) -> bool:
    return verdict.differs and fault.place in " ".join((verdict.message, *verdict.between))


def main() -> int:
    parser = argparse.ArgumentParser(description="judge jumar compare with faults and clean runs")
    parser.add_argument("--half", choices=("tune", "held", "both", "new", "third"), default="held")
    parser.add_argument("--floor", action="store_true", help="measure the noise of each reference")
    parser.add_argument("--models", help="some of them; all without it")
    parser.add_argument("--json", help="the rows, as a list of objects")
    options = parser.parse_args()
    os.environ.update(probe.settings())
    sys.modules.setdefault("torch_npu", None)  # type: ignore[arg-type]  # transformers would look for a card
    torch.set_num_threads(1)
    place = Path(tempfile.mkdtemp(prefix="jumar-faults-"))
    try:
        models = options.models.split(",") if options.models else list(THIRD if options.half == "third" else MODELS)
        rows = [row for name in models for row in _model(name, place, options)]
    finally:
        shutil.rmtree(place)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return _summary(rows, "with" if options.floor else "without")


def _model(name: str, place: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    base = reference(name, place / name, floor=options.floor)
    rows = []
    for model, fault in half(options.half):
        if model == name:
            told = compares.compare(base, record(name, place / "other", fault.name, card=True)).verdict
            rows.append(_row(name, fault.name, told, named(told, fault), fault=True))
            shutil.rmtree(place / "other")
    for kind, how in CLEAN.items():
        if name == "tagger" and "cast" in how:
            continue  # oneDNN has no LSTM in these on every processor
        told = compares.compare(base, record(name, place / "other", card=True, **how)).verdict
        rows.append(_row(name, kind, told, told.answer == "SAME", fault=False))
        shutil.rmtree(place / "other")
    return rows


def _row(model: str, name: str, told: Verdict, right: bool, *, fault: bool) -> dict[str, Any]:
    print(f"{model:9} {name:24} {told.answer:12} {'' if right else told.message[:150]}", flush=True)
    return {"model": model, "name": name, "fault": fault, "answer": told.answer, "right": right}


def _summary(rows: list[dict[str, Any]], floor: str) -> int:
    faults, clean = ([row for row in rows if row["fault"] is kind] for kind in (True, False))
    count = {answer: sum(row["answer"] == answer for row in faults) for answer in ("DIFFERENT", "INCONCLUSIVE", "SAME")}
    alarms = sum(row["answer"] == "DIFFERENT" for row in clean)
    doubts = sum(row["answer"] == "INCONCLUSIVE" for row in clean)
    print(f"{floor} floor: {len(faults)} faults: {count['DIFFERENT']} different, {count['INCONCLUSIVE']} inconclusive,"
          f" {count['SAME']} same; {sum(row['right'] for row in faults)} at the right place;"
          f" {len(clean)} clean runs: {alarms} false alarms, {doubts} inconclusive")  # fmt: skip
    return 1 if count["SAME"] or alarms else 0


if __name__ == "__main__":
    sys.exit(main())
