"""Published plans beside the first five that `jumar parallel` finds: `python bench/parallel_published.py [NAME…]`.

Each row: does the published plan fit in our model, its modelled step against our best, and its place among ours by
(tp, pp, ep, cp). The machine is that of the run; a plan of ours is compared at equal cards, batch and network. Rows go
to docs/results/data/parallel_published.json at once; `tools/generate.py` makes the page.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jumar.core.compat import tomllib
from jumar.parallel import configs, hardware, models
from jumar.parallel.network import Network
from jumar.parallel.plan import Job
from jumar.parallel.search import Found, Search
from jumar.parallel.space import PlanRequest

TABLE = Path(__file__).with_name("published_plans.toml")
FILE = TABLE.parents[1] / "docs" / "results" / "data" / "parallel_published.json"
GIB = 1 << 30
FIRST, KEEP = 5, 100
"""Plans of ours that are shown, and those among which a published one has its place."""


class Run(NamedTuple):
    name: str
    source: str
    machine: str
    net: Network
    cards: int
    batch: int
    plan: dict[str, int]
    why: dict[str, str]
    """Why ours differ, in both languages."""


def runs(data: dict[str, Any]) -> Iterator[Run]:
    gpt = data["gpt"]
    base = models.preset("gpt3-1.3b")
    for size, layers, hidden, heads, cards, batch, tp, pp in gpt["runs"]:
        net = base.with_(
            layers=layers, hidden=hidden, inner=4 * hidden, heads=heads, kv_heads=heads, head_dim=hidden // heads,
            vocab=gpt["vocab"], seq=gpt["seq"], input_bytes=gpt["seq"] * 8, attention=gpt["attention"],
            framework="torch", computed="float16",
        )  # fmt: skip
        plan = {"tp": tp, "pp": pp}
        yield Run(f"GPT, {size} B", gpt["source"], gpt["machine"], net, cards, batch, plan, gpt["why"])
    for row in data["other"]:
        keys = ("cards", "batch", "plan", "why")
        yield Run(row["name"], row["source"], row["machine"], _network(row), *(row[key] for key in keys))


def _network(row: dict[str, Any]) -> Network:
    if "config" in row:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "config.json")
            path.write_text(json.dumps(row["config"]))
            net = configs.read(path)
    else:
        net = models.preset("llama-70b").with_(**row["network"], input_bytes=row["network"]["seq"] * 8)
    return net.with_(attention="flash", framework=row["framework"], kept=row.get("kept", net.kept))


def key(found: Found) -> tuple[int, ...]:
    return found.plan.tp, found.plan.pp, found.plan.ep, found.plan.cp


def compare(run: Run, machines: dict[str, dict[str, float]]) -> dict[str, Any]:
    """The published plan and our first ones, in our model."""
    search = Search(run.net, Job(run.batch), hardware.find("910B3", machines[run.machine]))
    # Context parallel is looked at for runs that use it; nobody published a run with activations on the host.
    wish: dict[str, Any] = {"unproved": True, "offload": False, "cp": None if "cp" in run.plan else 1}
    began = time.process_time()
    ours = search.run(PlanRequest(run.cards, **wish), keep=KEEP)
    spent = time.process_time() - began
    theirs = search.run(PlanRequest(run.cards, **{**wish, **run.plan}))
    published, best = theirs.best or theirs.leanest, ours.best
    assert published is not None and best is not None
    shapes = list(dict.fromkeys(key(found) for found in ours.fitting))
    return {
        "name": run.name, "source": run.source, "cards": run.cards,
        "published": " ".join(f"{name}{value}" for name, value in run.plan.items()),
        "gib": round(published.peak / GIB, 1), "fits": published.fits,
        "first": [[found.plan.name, round(found.time.total / best.time.total, 3)] for found in ours.fitting[:FIRST]],
        "ratio": round(published.time.total / best.time.total, 2),
        "place": shapes.index(key(published)) + 1 if key(published) in shapes else 0,
        "why": run.why, "seconds": round(spent, 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    data = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    known = {row["name"]: row for row in json.loads(FILE.read_text(encoding="utf-8"))["rows"]} if FILE.exists() else {}
    every = list(runs(data))
    for run in every:
        if not given.names or any(name in run.name for name in given.names):
            row = known[run.name] = compare(run, data["machines"])
            told = f"{row['gib']} GiB, {'fits' if row['fits'] else 'does not fit'}; {row['ratio']} of our best"
            print(f"{run.name}: {row['published']}: {told}, place {row['place']}; {row['first'][0][0]}", flush=True)
            rows = ",\n  ".join(json.dumps(known[one.name], ensure_ascii=False) for one in every if one.name in known)
            head = f'"source": "bench/parallel_published.py", "date": "{time.strftime("%Y-%m-%d")}"'
            FILE.write_text(f'{{{head},\n "rows": [\n  {rows}\n ]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
