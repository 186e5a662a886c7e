"""Predicted against compiled memory and volume of plans: `python bench/parallel.py [--prove PYTHON]`.

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
from jumar.parallel.architecture import BYTES, Picture
from jumar.parallel.network import Network
from jumar.parallel.plan import Job, Plan
from jumar.parallel.search import Search
from jumar.parallel.space import PlanRequest

ROWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "tests" / "parallel" / "compiled.json").read_text()
)["rows"]
NAMES = (
    "family", "layers", "hidden", "inner", "heads", "kv_heads", "head_dim", "vocab", "norm", "position", "activation",
    "attention", "computed", "bias", "tied",
)  # fmt: skip
LARGE = ("mixtral-8x7b", 1441440, 2880)
"""Network, global batch and cards of the search that is timed: numbers with many divisors."""


def network(row: dict[str, Any]) -> Network:
    base = models.preset("llama-7b")
    changes = {name: row[name] for name in NAMES if name in row}
    if row.get("family") == "mlp":
        return base.with_(**changes, seq=1, heads=0, input_bytes=row["hidden"] * BYTES[row["computed"]])
    if row.get("family") == "vit":
        picture = Picture(*row["picture"])
        return base.with_(**changes, picture=picture, seq=picture.tokens, input_bytes=picture.bytes, sample="picture")
    seq = row.get("seq", 2048)
    return base.with_(**changes, seq=seq, input_bytes=seq * 8)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--prove", metavar="PYTHON", default="")
    given = parser.parse_args()
    machine = hardware.find("910B3", {})
    print(f"{'predicted':>9} {'compiled':>9} {'error':>7} {'volume':>7}  MiB, error of the volume, network and plan")
    for row in ROWS:
        net = network(row)
        search = Search(net, Job(row.get("global_batch", 1), row.get("optimizer", "adam")), machine)
        plan = Plan(**{key: row[key] for key in Plan._fields if key in row})
        found = search.evaluate(plan, machine.usable, (net.layers // plan.pp,) * plan.pp)
        assert found is not None
        stage = row["rank"] * plan.pp // plan.cards
        predicted, compiled, sent = found.memory[stage].total, row["compiled_mib"] << 20, row["sent_mib"] << 20
        if given.prove:
            starter = [sys.executable, "-m", "jumar", "run", "--python", given.prove]
            proof = prove.prove(search, found, starter, depth=net.layers).stages[stage]
            compiled, sent = proof.compiled, proof.compiled_volume
        volume = sum(search.clock.volume(plan, found.layers, stage))
        what = f"{net.family} {net.layers} x {net.hidden}, {plan.name}, {search.job.optimizer}, batch "
        what += f"{search.job.global_batch}, rank {row['rank']}"
        errors = f"{100 * (predicted / compiled - 1):>+6.1f}% {100 * (volume / sent - 1):>+6.1f}%"
        print(f"{predicted >> 20:>9} {compiled >> 20:>9} {errors}  {what}")
    name, batch, cards = LARGE
    search = Search(models.preset(name), Job(batch), machine)
    began = time.process_time()
    answer = search.run(PlanRequest(cards))
    spent = time.process_time() - began
    print(f"search: {answer.looked} plans in {spent:.1f} s CPU, {answer.pruned} ruled out by bounds")


if __name__ == "__main__":
    main()
