"""Predicted against compiled memory of plans: `python bench/parallel.py [--prove PYTHON]`.

Without `--prove` the compiled figures are those recorded in tests/parallel/compiled.json; with it each row is
compiled again by the MindSpore of that Python, one at a time. The last line is the speed of the search.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from jumar.parallel import hardware, models, prove
from jumar.parallel.network import Network
from jumar.parallel.plan import Job, Plan
from jumar.parallel.search import Search
from jumar.parallel.space import Wish

ROWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "tests" / "parallel" / "compiled.json").read_text()
)["rows"]
NAMES = (
    "family", "layers", "hidden", "inner", "heads", "kv_heads", "head_dim", "vocab", "norm", "position", "activation",
    "attention", "computed",
)  # fmt: skip


def network(row: dict[str, Any]) -> Network:
    base = models.preset("llama-7b")
    changes = {name: row[name] for name in NAMES if name in row}
    if row.get("family") == "mlp":
        return base.with_(**changes, seq=1, heads=0, input_bytes=row["hidden"] * 4)
    seq = row.get("seq", 2048)
    return base.with_(**changes, seq=seq, input_bytes=seq * 8, bias=bool(row.get("bias", 0)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--prove", metavar="PYTHON", default="")
    given = parser.parse_args()
    machine = hardware.find("910B3", {})
    print(f"{'predicted':>9} {'compiled':>9} {'error':>7}  MiB, network and plan")
    for row in ROWS:
        net = network(row)
        search = Search(net, Job(row.get("global_batch", 1)), machine)
        plan = Plan(row.get("dp", 1), row.get("tp", 8), row.get("pp", 1), row.get("micro_batches", 1),
                    row.get("optimizer_shard", 0), "full" if row.get("rc") else "none")  # fmt: skip
        found = search.evaluate(plan, machine.usable, (net.layers // plan.pp,) * plan.pp)
        assert found is not None
        stage = row["rank"] * plan.pp // row["cards"]
        predicted, compiled = found.memory[stage].total, row["compiled_mib"] << 20
        if given.prove:
            starter = [sys.executable, "-m", "jumar", "run", "--python", given.prove]
            compiled = prove.prove(search, found, starter, depth=net.layers).stages[stage].compiled
        what = f"{net.family} {net.layers} x {net.hidden}, {plan.name}, batch {search.job.global_batch}"
        what += f", rank {row['rank']}"
        print(f"{predicted >> 20:>9} {compiled >> 20:>9} {100 * (predicted / compiled - 1):>+6.1f}%  {what}")
    search = Search(models.preset("gpt3-175b"), Job(3072), machine)
    began = time.process_time()
    answer = search.run(Wish(1024))
    spent = time.process_time() - began
    print(f"search: {answer.looked} plans in {spent:.1f} s CPU, {answer.pruned} ruled out by bounds")


if __name__ == "__main__":
    main()
