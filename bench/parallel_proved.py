"""The first plan for models of public hubs, proved by MindSpore's compiler: `python bench/parallel_proved.py PYTHON`.

The models and jobs are those of hub_models.toml. Each is asked as a user would ask it, without any choice fixed, and
its first plan is compiled as `--prove 1` does. A run takes up the models without a result, or those that are named, and
writes each at once to docs/results/data/parallel_proved.json; `tools/generate.py` makes the page.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from jumar.core.compat import tomllib

TABLE = Path(__file__).with_name("hub_models.toml")
FILE = TABLE.parents[1] / "docs" / "results" / "data" / "parallel_proved.json"


def ask(model: dict[str, Any], python: str, limit: int) -> dict[str, Any]:
    """What the command says: the plan and, of each stage that was compiled, memory and communication."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "config.json")
        path.write_text(json.dumps(model["config"]), encoding="utf-8")
        words = [str(path), "--cards", str(model["cards"]), "--global-batch", str(model["batch"]),
                 "--seq", str(model["seq"]), "--prove", "1", "--prove-limit", str(limit), "--python", python,
                 "--json", *(["--prove-layers", str(model["layers"])] if "layers" in model else [])]  # fmt: skip
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "jumar", "parallel", *words], capture_output=True, text=True, check=False
        )
    row = {key: model[key] for key in ("name", "cards", "batch", "seq")}
    try:
        proof = json.loads(done.stdout)["proofs"][0]
    except (ValueError, LookupError):
        told = [line for line in (done.stdout + done.stderr).splitlines() if "message" in line or "error:" in line]
        return {**row, "refused": (told or ["no answer"])[0].strip()}
    stages = [
        {key: stage[key] for key in ("stage", "predicted", "compiled", "predicted_volume", "compiled_volume")}
        for stage in proof["stages"]
    ]
    return {**row, "plan": proof["plan"], "layers": sum(proof["layers"]), "stages": stages,
            "seconds": round(time.monotonic() - began)}  # fmt: skip


def read() -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in json.loads(FILE.read_text(encoding="utf-8"))["rows"]} if FILE.exists() else {}


def save(rows: dict[str, dict[str, Any]], order: list[str]) -> None:
    data = {"source": "bench/parallel_proved.py, dry runs of MindSpore 2.10.0", "date": time.strftime("%Y-%m-%d")}
    kept = [rows[name] for name in order if name in rows]
    FILE.write_text(json.dumps({**data, "rows": kept}, indent=1) + "\n", encoding="utf-8")


def tell(row: dict[str, Any]) -> str:
    if "refused" in row:
        return f"{row['name']}: {row['refused']}"
    errors = [100 * (stage["predicted"] / stage["compiled"] - 1) for stage in row["stages"]]
    sent = [100 * (stage["predicted_volume"] / max(1, stage["compiled_volume"]) - 1) for stage in row["stages"]]
    return (
        f"{row['name']}: {row['plan']}, memory {min(errors):+.1f} to {max(errors):+.1f} %, "
        f"communication {min(sent):+.1f} to {max(sent):+.1f} %, {row['seconds']} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("python", help="an interpreter with MindSpore")
    parser.add_argument("names", nargs="*", help="models of the table; without any, those without a result")
    parser.add_argument("--limit", type=int, default=1200, help="seconds for one compilation")
    given = parser.parse_args()
    models = tomllib.loads(TABLE.read_text(encoding="utf-8"))["model"]
    rows = read()
    for model in models:
        if model["name"] in given.names if given.names else "stages" not in rows.get(model["name"], {}):
            rows[model["name"]] = ask(model, given.python, given.limit)
            save(rows, [one["name"] for one in models])
            print(tell(rows[model["name"]]), flush=True)


if __name__ == "__main__":
    main()
