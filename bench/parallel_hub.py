"""Are configurations of public hubs read right, and do plans come out? `python bench/parallel_hub.py [NAME…]`.

Each model of hub_sizes.toml: its parameters as `jumar parallel` counts them, as transformers counts them on the meta
device, and as they are published; what is said about it; and the first plan on as many 910B3 as hold its training state
twice. A hash of the name divides the models: some were looked at while the reader was mended, the others held back.
Rows go to docs/results/data/parallel_hub.json; `tools/generate.py` makes the page.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from jumar.core.compat import tomllib
from jumar.core.errors import UserError
from jumar.parallel import configs, hardware
from jumar.parallel.network import Network
from jumar.parallel.plan import Job
from jumar.parallel.search import Search
from jumar.parallel.space import PlanRequest

TABLE = Path(__file__).with_name("hub_sizes.toml")
FILE = TABLE.parents[1] / "docs" / "results" / "data" / "parallel_hub.json"
STATE, ROOM = 18, 32 << 30
"""Bytes of weights, gradients and Adam's state for a parameter, and how many of them a card shall hold at most."""
PER_CARD = 4
"""Samples of a step for each card."""
QUIET = ("tokens that the file allows", "is filled up to")
"""Notes that are not about what is read."""


def held(name: str) -> bool:
    return hashlib.sha256(name.encode()).digest()[-1] % 2 == 1


def read(config: dict[str, Any]) -> Network:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "config.json")
        path.write_text(json.dumps(config), encoding="utf-8")
        try:
            return configs.read(path)
        except UserError as error:
            raise UserError(str(error).replace(str(path), "config.json")) from None


def counted(config: dict[str, Any]) -> int | None:
    """Parameters of the text model that transformers builds, without memory; None if it does not know the type."""
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    sys.modules["torch_npu"] = None  # type: ignore[assignment]  # the meta device needs no NPU
    import torch
    import transformers

    part = config.get("text_config") or config
    words = {key: value for key, value in part.items() if key != "model_type"}
    kinds = ("AutoModelForCausalLM", "AutoModelForMaskedLM", "AutoModelForImageClassification")
    for maker in kinds:
        try:
            made = transformers.AutoConfig.for_model(part["model_type"], **words)
            with torch.device("meta"):
                model = getattr(transformers, maker).from_config(made)
        except Exception:  # a type that it does not know, or of another kind
            continue
        return sum(weight.numel() for weight in model.parameters())
    return None


def cards(net: Network) -> int:
    """A power of two from 8 on which weights, gradients and state leave half of each card free."""
    wanted = 8
    while net.parameters * STATE > wanted * ROOM:
        wanted *= 2
    return wanted


def row(model: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"name": model["name"], "held": held(model["name"]), "published": model["published"],
                             "text": model.get("text", False), "unmodelled": model.get("refused", False)}  # fmt: skip
    found["transformers"] = counted(model["config"])
    try:
        net = read(model["config"])
    except UserError as error:
        return {**found, "refused": str(error)}
    found |= {"ours": net.parameters, "cards": cards(net),
              "notes": [note for note in net.notes if not any(word in note for word in QUIET)]}  # fmt: skip
    machine = hardware.find("910B3", {})
    net = net.with_(attention=machine.attention)
    began = time.process_time()
    answer = Search(net, Job(PER_CARD * found["cards"]), machine).run(PlanRequest(found["cards"]))
    best = answer.best or answer.leanest
    if best:
        found |= {"plan": best.plan.name, "gib": round(best.peak / (1 << 30), 1), "fits": best.fits}
    return {**found, "seconds": round(time.process_time() - began, 1)}


def tell(found: dict[str, Any]) -> str:
    if "refused" in found:
        return f"{found['name']}: refused: {found['refused']}"
    true = found["transformers"] or found["published"] * 1e9
    off = 100 * (found["ours"] / true - 1)
    told = f"{found['ours'] / 1e9:.3f} B, {off:+.2f} % of {'transformers' if found['transformers'] else 'published'}"
    return (f"{found['name']}: {told}, published {found['published']}; {found['cards']} cards: {found.get('plan')}, "
            f"{found.get('gib')} GiB, {'fits' if found.get('fits') else 'does not fit'}; {found['notes']}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--looked", action="store_true", help="tell only those that may be looked at")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    models = tomllib.loads(TABLE.read_text(encoding="utf-8"))["model"]
    known = {one["name"]: one for one in json.loads(FILE.read_text(encoding="utf-8"))["rows"]} if FILE.exists() else {}
    for model in models:
        if given.names and not any(name in model["name"] for name in given.names):
            continue
        if given.looked and held(model["name"]):
            continue
        known[model["name"]] = row(model)
        print(tell(known[model["name"]]), flush=True)
    rows = ",\n  ".join(json.dumps(known[one["name"]]) for one in models if one["name"] in known)
    head = f'"source": "bench/parallel_hub.py", "date": "{time.strftime("%Y-%m-%d")}"'
    FILE.write_text(f'{{{head},\n "rows": [\n  {rows}\n ]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
