"""Modelled against measured step times of published runs: `python bench/parallel_times.py [--looked]`.

The runs and their plans are those of published_times.toml; the machines those of published_plans.toml. A hash of the
name divides them: the time model was tuned with one half in view, the other was held back. Rows go to
docs/results/data/parallel_times.json, and the span of the ratios to src/jumar/data/parallel_times.json, which
`jumar parallel` prints; `tools/generate.py` makes the page.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import time
from pathlib import Path
from typing import Any

from jumar.core.compat import tomllib
from jumar.parallel import hardware, models
from jumar.parallel.network import Network
from jumar.parallel.plan import Job, Plan
from jumar.parallel.search import Search

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "bench" / "published_times.toml"
MACHINES = ROOT / "bench" / "published_plans.toml"
FILE = ROOT / "docs" / "results" / "data" / "parallel_times.json"
BAR = ROOT / "src" / "jumar" / "data" / "parallel_times.json"


def held(name: str) -> bool:
    return hashlib.sha256(name.encode()).digest()[-1] % 2 == 1


def network(run: dict[str, Any], group: dict[str, Any]) -> Network:
    base = models.preset("gpt3-1.3b" if group["family"] == "gpt" else "llama-70b")
    words = {"tied": False, "attention": group.get("attention", "flash"), **run["network"]}
    return base.with_(**words, input_bytes=words["seq"] * 8, framework=group["framework"], computed="bfloat16")


def modelled(run: dict[str, Any], group: dict[str, Any], machines: dict[str, Any]) -> tuple[float, dict[str, float]]:
    """Seconds of a step in our model, and what they go to."""
    net = network(run, group)
    search = Search(net, Job(run["batch"]), hardware.find("910B3", machines[group["machine"]]))
    words = dict(run["plan"])
    layers = words.pop("layers", None)
    spread = run["cards"] // (words["tp"] * words["pp"] * words.get("cp", 1))
    plan = Plan(dp=spread, **words)
    each, rest = divmod(search.depth, plan.pp)
    split = tuple(layers) if layers else tuple(each + (stage >= plan.pp - rest) for stage in range(plan.pp))
    found, _ = search.clock.time(plan, split)
    return found.total, {name: value for name, value in found._asdict().items() if value}


def measured(run: dict[str, Any]) -> float:
    if "seconds" in run:
        return float(run["seconds"])
    return float(run["batch"] * run["network"]["seq"] / (run["tokens"] * run["cards"]))


def row(run: dict[str, Any], groups: dict[str, Any], machines: dict[str, Any]) -> dict[str, Any]:
    group = groups[run["group"]]
    seconds, parts = modelled(run, group, machines)
    known = measured(run)
    plan = Plan(dp=run["cards"] // (run["plan"]["tp"] * run["plan"]["pp"] * run["plan"].get("cp", 1)),
                **{key: value for key, value in run["plan"].items() if key != "layers"})  # fmt: skip
    return {"name": run["name"], "group": run["group"], "held": held(run["name"]), "cards": run["cards"],
            "plan": plan.name, "measured": round(known, 3), "modelled": round(seconds, 3),
            "ratio": round(seconds / known, 3),
            "parts": {name: round(value / seconds, 3) for name, value in parts.items()}}  # fmt: skip


def span(rows: list[dict[str, Any]], family: tuple[str, ...]) -> dict[str, Any]:
    """How much faster or slower than modelled the runs of some groups were."""
    ratios = sorted(1 / one["ratio"] for one in rows if one["group"].startswith(family))
    return {"runs": len(ratios), "lowest": round(ratios[0], 2), "highest": round(ratios[-1], 2),
            "middle": round(statistics.median(ratios), 2)}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--looked", action="store_true", help="tell only the runs that may be looked at; write nothing")
    given = parser.parse_args()
    data = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    machines = tomllib.loads(MACHINES.read_text(encoding="utf-8"))["machines"]
    rows = [row(run, data["groups"], machines) for run in data["run"] if not (given.looked and held(run["name"]))]
    for one in rows:
        parts = " ".join(f"{name} {100 * value:.0f}%" for name, value in one["parts"].items())
        print(f"{one['group']:>13} {one['ratio']:6.2f} {one['measured']:9.2f} {one['modelled']:9.2f} s  {one['name']}: "
              f"{one['plan']}; {parts}")  # fmt: skip
    for kind in sorted({one["group"] for one in rows}):
        print(kind, span(rows, (kind,)))
    if given.looked:
        return
    text = ",\n  ".join(json.dumps(one) for one in rows)
    head = f'"source": "bench/parallel_times.py", "date": "{time.strftime("%Y-%m-%d")}"'
    FILE.write_text(f'{{{head},\n "rows": [\n  {text}\n ]}}\n', encoding="utf-8")
    kinds = {"ascend": ("mindspeed",), "other": tuple(name for name in data["groups"] if name != "mindspeed")}
    bars = {"source": "bench/parallel_times.py", "date": time.strftime("%Y-%m-%d"), "tool": "bench/parallel_times.py",
            "machines": {name: span(rows, groups) for name, groups in kinds.items()}}  # fmt: skip
    BAR.write_text(json.dumps(bars, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
