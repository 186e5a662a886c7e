"""Published plans beside the first that `jumar parallel` finds: `python bench/parallel_published.py [NAME…]`.

Each row: does the published plan fit in our model, its modelled step against our best, and its place among ours by
(tp, pp, ep). The machine is that of the run; a plan of ours is compared at equal cards, batch and network.
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
GIB = 1 << 30


class Run(NamedTuple):
    name: str
    source: str
    machine: str
    net: Network
    cards: int
    batch: int
    plan: dict[str, int]


def runs(data: dict[str, Any]) -> Iterator[Run]:
    gpt = data["gpt"]
    base = models.preset("gpt3-1.3b")
    for size, layers, hidden, heads, cards, batch, tp, pp in gpt["runs"]:
        net = base.with_(
            layers=layers, hidden=hidden, inner=4 * hidden, heads=heads, kv_heads=heads, head_dim=hidden // heads,
            vocab=gpt["vocab"], seq=gpt["seq"], input_bytes=gpt["seq"] * 8, attention=gpt["attention"],
            framework="torch", computed="float16",
        )  # fmt: skip
        yield Run(f"GPT, {size} B", gpt["source"], gpt["machine"], net, cards, batch, {"tp": tp, "pp": pp})
    for row in data["other"]:
        yield Run(row["name"], row["source"], row["machine"], _network(row), row["cards"], row["batch"], row["plan"])


def _network(row: dict[str, Any]) -> Network:
    if "config" in row:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "config.json")
            path.write_text(json.dumps(row["config"]))
            net = configs.read(path)
    else:
        net = models.preset("llama-70b").with_(**row["network"], input_bytes=row["network"]["seq"] * 8)
    return net.with_(attention="flash", framework=row["framework"], kept=row.get("kept", net.kept))


def key(found: Found) -> tuple[int, int, int]:
    return found.plan.tp, found.plan.pp, found.plan.ep


def show(run: Run, machines: dict[str, dict[str, float]]) -> str:
    search = Search(run.net, Job(run.batch), hardware.find("910B3", machines[run.machine]))
    began = time.process_time()
    ours = search.run(PlanRequest(run.cards, unproved=True))
    spent = time.process_time() - began
    fixed: dict[str, Any] = {**run.plan}
    theirs = search.run(PlanRequest(run.cards, unproved=True, **fixed))
    published, best = theirs.best or theirs.leanest, ours.best
    assert published is not None
    words = " ".join(f"{name}{value}" for name, value in run.plan.items())
    told = f"{run.name} | {run.cards} | {words} | {published.peak / GIB:.1f} GiB, "
    told += "fits" if published.fits else "does not fit"
    if best is None:
        return f"{told} | nothing fits | | {spent:.1f} s"
    shapes = list(dict.fromkeys(key(found) for found in ours.fitting))
    place = shapes.index(key(published)) + 1 if key(published) in shapes else 0
    ratio = published.time.total / best.time.total
    return f"{told} | {best.plan.name} | {ratio:.2f} | {place or 'later'} | {spent:.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    data = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    print("run | cards | published | in our model | our best | published / best | place of its shape | search, CPU")
    for run in runs(data):
        if not given.names or any(name in run.name for name in given.names):
            print(show(run, data["machines"]), flush=True)


if __name__ == "__main__":
    main()
