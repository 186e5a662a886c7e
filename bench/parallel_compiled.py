"""Predicted against compiled memory for settings drawn by a seed: `python bench/parallel_compiled.py PYTHON`.

`--draw` writes the settings to docs/results/data/parallel_compiled.json before anything is compiled; a run compiles
those without a result, one at a time, and writes each at once, so that it can be stopped and started again. At its end
it writes src/jumar/data/parallel_error.json, the error bar that `jumar parallel` prints. `tools/generate.py` makes the
page.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

from jumar.core.errors import UserError
from jumar.parallel import hardware, models, provable, prove
from jumar.parallel.architecture import Latent
from jumar.parallel.network import Network
from jumar.parallel.plan import Job, Plan
from jumar.parallel.search import Found, Search
from jumar.parallel.space import PlanRequest

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docs" / "results" / "data" / "parallel_compiled.json"
ERROR = ROOT / "src" / "jumar" / "data" / "parallel_error.json"
SEED, COUNT, HALF = 20261117, 40, 8
"""Settings with weights in float32, and with weights in half precision after them."""
SEEN = (*range(8), 12)
"""Settings whose memory was in view when the model was mended; the others are held out."""
LATENT = Latent(192, 96, 64, 32, 64)


def draw(seed: int, count: int) -> list[dict[str, Any]]:
    """Settings that depend on the seed alone: every second one has experts."""
    dice = random.Random(seed)
    return [_setting(dice, number, number % 2 == 1) for number in range(count)]


def draw_half(seed: int, first: int, count: int) -> list[dict[str, Any]]:
    """The same with weights in bfloat16 or float16, which MindSpore's AdamWeightDecay takes."""
    dice = random.Random(f"half {seed}")
    rows = [_setting(dice, first + number, number % 2 == 1) for number in range(count)]
    for row in rows:
        kind = dice.choice(("bfloat16", "float16"))
        row["network"] |= {"kept": kind, "computed": kind}
        row["optimizer"] = "adamw" if kind == "bfloat16" else row["optimizer"]
    return rows


def _setting(dice: random.Random, number: int, experts: bool) -> dict[str, Any]:
    words = _experts(dice) if experts else _dense(dice)
    words |= {"layers": dice.randint(2, 8), "seq": dice.choice((256, 512, 1024)),
              "attention": "flash" if words.get("latent") else dice.choice(("flash", "flash", "plain"))}  # fmt: skip
    if words.get("dense_layers"):
        words["layers"] = max(3, words["layers"])
    cards, each = dice.choice((2, 4, 4, 8)), dice.choice((1, 2, 4))
    job = {"global_batch": cards * each, "optimizer": dice.choice(("adam", "adam", "adamw"))}
    search = Search(_network(words), Job(**job), hardware.find("910B3", {}))
    plans = [plan for plan in search.plans(PlanRequest(cards)) if not provable.reason(search.net, plan)]
    shape = dice.choice(sorted({(plan.dp, plan.tp, plan.pp) for plan in plans}))
    plan = dice.choice([plan for plan in plans if (plan.dp, plan.tp, plan.pp) == shape])
    stage = dice.randrange(plan.pp)
    return {"number": number, "network": words, **job, "plan": plan._asdict(), "stage": stage}


def _dense(dice: random.Random) -> dict[str, Any]:
    heads, width = dice.choice((8, 16)), dice.choice((64, 128))
    family = dice.choice(("llama", "llama", "gpt"))
    words = {"hidden": heads * width, "heads": heads, "kv_heads": heads, "head_dim": width,
             "inner": heads * width * 4, "vocab": dice.choice((32000, 50304, 64000)), "family": family}  # fmt: skip
    if family == "gpt":
        return words | {"norm": "layer", "position": "learned", "activation": "gelu", "bias": True,
                        "tied": dice.random() < 0.5}  # fmt: skip
    return words | {"kv_heads": dice.choice((heads, heads // 4)), "inner": dice.choice((2, 3)) * heads * width}


def _experts(dice: random.Random) -> dict[str, Any]:
    heads, width = dice.choice((8, 16)), 64
    words: dict[str, Any] = {
        "hidden": heads * width, "heads": heads, "kv_heads": heads, "head_dim": width,
        "inner": dice.choice((512, 1024, 1536)), "vocab": 32000, "family": "llama",
        "experts": dice.choice((4, 8, 16)), "active_experts": dice.choice((1, 2, 4)),
    }  # fmt: skip
    if dice.random() < 0.4:
        words["shared_inner"] = words["inner"]
    if dice.random() < 0.3:
        words |= {"dense_layers": 1, "dense_inner": 2 * words["inner"]}
    if dice.random() < 0.3:
        words["latent"] = LATENT._asdict()
    return words


def _network(words: dict[str, Any]) -> Network:
    latent = Latent(**words["latent"]) if words.get("latent") else None
    base = models.preset("llama-7b").with_(name="drawn", source=str(FILE.name))
    return base.with_(**{**words, "latent": latent, "input_bytes": words["seq"] * 8})


def found(row: dict[str, Any]) -> tuple[Search, Found]:
    """The prediction of a setting."""
    job = Job(row["global_batch"], row["optimizer"])
    search = Search(_network(row["network"]), job, hardware.find("910B3", {}))
    plan = Plan(**row["plan"])
    each, rest = divmod(search.depth, plan.pp)
    layers = tuple(each + (stage >= plan.pp - rest) for stage in range(plan.pp))
    result = search.evaluate(plan, search.hardware.usable, layers)
    assert result is not None
    return search, result


def compare(row: dict[str, Any]) -> tuple[int, int]:
    """Predicted bytes of memory and of communication."""
    search, result = found(row)
    return result.memory[row["stage"]].total, sum(search.clock.volume(result.plan, result.layers, row["stage"]))


def half(row: dict[str, Any]) -> bool:
    """Does it keep its weights in half precision?"""
    return "kept" in row["network"]


def what(row: dict[str, Any]) -> str:
    """The network in a few words."""
    net = row["network"]
    words = [f"{net['family']} {net['layers']} x {net['hidden']}", f"{net['seq']} tokens", net["attention"]]
    if net.get("experts"):
        words.append(f"{net['experts']} experts")
    words += [word for word in ("latent", "tied") if net.get(word)]
    if half(row):
        words.append(f"weights {net['kept']}, {row['optimizer']}")
    return ", ".join(words)


def plan(row: dict[str, Any]) -> str:
    name = Plan(**row["plan"]).name
    return f"{name}, {row['stage']}" if row["plan"]["pp"] > 1 else name


def error_bars(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Of all that are compiled: dense ones, those with experts, and all with weights in half precision."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if "compiled" in row:
            kind = "half" if half(row) else "experts" if row["network"].get("experts") else "dense"
            found.setdefault(kind, []).append(round(compare(row)[0] / row["compiled"] - 1, 3))
    return {
        kind: {"settings": len(errors), "lowest": min(errors), "highest": max(errors)} for kind, errors in found.items()
    }


def compile_one(row: dict[str, Any], python: str, limit: float) -> None:
    search, result = found(row)
    starter = [sys.executable, "-m", "jumar", "run", "--python", python]
    began = time.monotonic()
    try:
        done = prove.prove(search, result, starter, depth=search.net.layers, limit=limit, stages=[row["stage"]],
                           whole=True)  # fmt: skip
    except UserError as refused:
        row["refused"] = str(refused)
        return
    row.pop("refused", None)
    row |= {"compiled": done.stages[0].compiled, "sent": done.stages[0].compiled_volume}
    row["seconds"] = round(time.monotonic() - began)


def save(data: dict[str, Any]) -> None:
    rows = ",\n  ".join(json.dumps(row) for row in data["rows"])
    head = ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in data.items() if key != "rows")
    FILE.write_text(f'{{{head},\n "rows": [\n  {rows}\n ]}}\n', encoding="utf-8")


def tell(row: dict[str, Any]) -> str:
    name = Plan(**row["plan"]).name
    if "compiled" not in row:
        return f"{row['number']:>3} {name}: {row.get('refused', 'not compiled')}"
    memory, volume = compare(row)
    errors = f"{100 * (memory / row['compiled'] - 1):+6.1f} % {100 * (volume / max(1, row['sent']) - 1):+6.1f} %"
    return f"{row['number']:>3} {memory >> 20:>6} {row['compiled'] >> 20:>6} MiB {errors}  {name} stage {row['stage']}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "python", nargs="?", help="an interpreter with MindSpore; without it only what is there is told"
    )
    parser.add_argument("--draw", action="store_true", help="draw the settings anew, without results")
    parser.add_argument("--half", type=int, metavar="SEED", help="draw more settings in half precision, to be unseen")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--limit", type=float, default=1200, help="seconds for one setting")
    parser.add_argument("--again", action="store_true", help="also try again what was refused")
    given = parser.parse_args()
    if given.draw:
        source = "bench/parallel_compiled.py, dry runs of MindSpore 2.10.0 (level 1), peak without fragments"
        rows = draw(given.seed, given.count) + draw_half(given.seed, given.count, HALF)
        save({"source": source, "date": time.strftime("%Y-%m-%d"), "seed": given.seed, "rows": rows})
    data = json.loads(FILE.read_text(encoding="utf-8"))
    if given.half:
        more = draw_half(given.half, len(data["rows"]), HALF)
        data["rows"] += [{**row, "seed": given.half} for row in more]
        save(data)
    for row in data["rows"]:
        if given.python and "compiled" not in row and (given.again or "refused" not in row):
            compile_one(row, given.python, given.limit)
            save(data)
        print(tell(row), flush=True)
    table = {"source": "bench/parallel_compiled.py", "date": data["date"], "tool": "bench/parallel_compiled.py",
             "networks": error_bars(data["rows"])}  # fmt: skip
    ERROR.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
