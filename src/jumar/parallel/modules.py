"""From a user's model to a network: its operators as traced without allocating, cut into start, layers and end."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from jumar.core import read as contents
from jumar.core.compat import zip
from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.parallel import configs, mindir, programs
from jumar.parallel.architecture import BYTES
from jumar.parallel.network import Network
from jumar.parallel.tape import Layer, Tape
from jumar.runtime import process
from jumar.tables.load import table
from jumar.tables.operator_kinds import VIEWS, is_kind

BATCH = 2
LIMIT = 300
ALIKE = 0.1
"""Layers are equal when the bytes that they make differ by no more than this share."""


def read(word: str, interpreter: str, seq: int | None) -> Network:
    """Build `file.py:function` in its own Python and read what it is made of."""
    name, _, function = word.rpartition(":")
    path = Path(name)
    if not path.is_file():
        raise UserError(f"no such file: `{path}`")
    if not function.isidentifier():
        raise UserError(f"not a function: `{function}`", "such as `model.py:make_model`")
    with tempfile.TemporaryDirectory(prefix="jumar-model-") as folder:
        result = _probe(path, function, interpreter, seq or 0, Path(folder))
        _refuse(result, path, function, interpreter)
        if result["kind"] == "config":
            file = Path(folder, "config.json")
            file.write_text(json.dumps(result["config"]))
            return configs.read(file, seq).with_(name=path.stem, source=word, framework="torch", attention="flash")
        framework = "torch"
        if result["kind"] == "ir":
            result |= mindir.read(_graph(Path(folder)))
            framework = "mindspore"
    return build(result, path.stem, word, framework).with_(fed_seq=seq or 0)


def _probe(path: Path, function: str, interpreter: str, seq: int, folder: Path) -> dict[str, Any]:
    script = folder / "probe.py"
    script.write_text(programs.source("probe"), encoding="utf-8")
    graphs = {"MS_DEV_SAVE_GRAPHS": "1", "MS_DEV_SAVE_GRAPHS_PATH": str(folder / "graphs"), "GLOG_v": "3"}
    words = [interpreter, str(script), str(path.absolute()), function, str(BATCH), str(seq), str(folder)]
    environment = {**os.environ, **graphs, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    try:
        done = process.run(words, env=environment, timeout=LIMIT, cwd=folder)
    except process.NotStarted as refused:
        raise UserError(refused.message, "`--python` names another Python") from refused
    except process.Late:
        raise UserError(
            f"`{path}:{function}` was not built within {LIMIT} s", "build it without loading weights"
        ) from None
    written = folder / "result.json"
    if not written.exists():
        last = (done.err.strip().splitlines() or ["it printed nothing"])[-1]
        raise UserError(f"`{path}:{function}` ended its Python: {last}")
    try:
        loaded = contents.decoded(contents.content(written))
    except ValueError:
        loaded = None
    if not isinstance(loaded, dict) or "kind" not in loaded:
        raise UserError(f"`{path}:{function}` left no result that can be read", "try it in Python first")
    return loaded


def _refuse(result: dict[str, Any], path: Path, function: str, interpreter: str) -> None:
    kind = result["kind"]
    if kind == "missing":
        raise UserError(
            f"`{path}` needs `{result['name']}`, which `{interpreter}` does not have",
            "`--python` names a Python that has it",
        )
    if kind == "no-function":
        hint = did_you_mean(function, result["names"], "a function without arguments that returns the model")
        raise UserError(f"`{path}` has no `{function}`", hint)
    if kind == "arguments":
        names = ", ".join(f"`{name}`" for name in result["names"])
        raise UserError(
            f"`{path}:{function}` needs arguments: {names}",
            "write one without, such as `def make_model(): return Net(12)`",
        )
    if kind == "wrong":
        raise UserError(
            f"`{path}:{function}` returns `{result['type']}`", "it must return a torch.nn.Module or a mindspore.nn.Cell"
        )
    if kind == "no-inputs":
        raise UserError(
            f"the inputs of `{path}:{function}` are unknown",
            "add `def make_inputs(batch)` that returns its inputs",
        )
    if kind == "error":
        raise UserError(f"`{path}:{function}` cannot be built: {result['message']}", "try it in Python first")


def _graph(folder: Path) -> str:
    found = sorted(folder.glob("graphs/**/*validate*.ir"))
    if not found:
        raise UserError("MindSpore wrote no graph of this model", "MindSpore 2.7 to 2.10 are known to")
    return contents.content(max(found, key=lambda path: path.stat().st_size)).decode("utf-8", "replace")


def build(trace: dict[str, Any], name: str, source: str, framework: str) -> Network:
    """Cut the operators into start, equal layers and end, and write a tape for each."""
    rows = trace["ops"]
    if not rows:
        raise UserError(f"`{source}` has no operators")
    numbers = sorted({row["block"] for row in rows if row["block"] not in (None, -1)})
    groups = [[row for row in rows if row["block"] is None]]
    groups += [[row for row in rows if row["block"] == number] for number in numbers]
    groups.append([row for row in rows if row["block"] == -1])
    rules, batch = table("parallel_operators.toml"), trace["batch"]
    tapes = [_tape(group, trace, rules, batch) for group in groups]
    if framework == "mindspore":
        _look_ahead(tapes[-1] if groups[-1] else tapes[0])
    notes = () if numbers else ("no list of equal layers was found: stages and recompute see one layer",)
    layers: list[Layer] = []
    if groups[0]:
        layers.append(Layer("start", tapes[0]))
    totals = [sum(size for row in group for _, size in row["outputs"]) for group in groups[1:-1]]
    same = len({tape.elements() for tape in tapes[1:-1]}) == 1
    if same and max(totals) - min(totals) <= ALIKE * max(totals):
        layers.append(Layer("block", tapes[1 + len(numbers) // 2], len(numbers)))
    else:
        layers += [Layer(f"block {number}", tape) for number, tape in zip(numbers, tapes[1:-1], strict=True)]
        notes = (*notes, "the layers differ and are handled one by one") if numbers else notes
    if groups[-1]:
        layers.append(Layer("end", tapes[-1]))
    dtype = trace["dtype"] if trace["dtype"] in BYTES else "float32"
    return Network(
        name, "traced", source, 1, max(1, len(numbers)), computed=dtype, kept=dtype, framework=framework,
        input_bytes=trace["fed"] // batch, blocks=trace.get("where", ""), sample="sample", notes=notes,
        traced=tuple(layers),
    )  # fmt: skip


def _look_ahead(end: Tape) -> None:
    """Of the gradients of a loss some depend on the labels alone: the compiler makes them before the loss is there."""
    sizes = [end.values[op.output].size for op in end.ops]
    if sizes and not end.values[end.out].size > max(sizes) // 2:
        most = sizes.index(max(sizes))
        early = end.op("ahead", (), sizes[most], own=True)
        end.ops[most] = end.ops[most]._replace(keeps=(*end.ops[most].keeps, early))
        end.ops.insert(most, end.ops.pop())


def _tape(rows: list[dict[str, Any]], trace: dict[str, Any], rules: dict[str, Any], batch: int) -> Tape:
    tape = Tape()
    here: dict[int, int] = {}
    made = {index: size for row in rows for index, size in row["outputs"]}
    outside = [index for row in rows for index in row["inputs"] if index not in made]
    sizes = {index: size for row in trace["ops"] for index, size in row["outputs"]}
    first = max(outside, default=None)
    tape.value(sizes.get(first, 0) // batch if first is not None else 0)
    if first is not None:
        here[first] = 0
    weights: dict[str, int] = {}
    keeps = rules["keeps"]
    for row in rows:
        inputs = tuple(here.setdefault(index, -1) for index in row["inputs"])
        inputs = tuple(tape.value(0) if value < 0 else value for value in inputs)
        here.update(zip(row["inputs"], inputs, strict=True))
        rule = keeps.get(row["kind"], [])
        used = []
        for name in row["weights"]:
            if name not in weights:
                weights[name] = tape.weight(name, trace["weights"][name], kept="weights" in rule, cast=False)
                used.append(weights[name])
        view = is_kind(row["kind"], *VIEWS) and bool(inputs) and not used
        kept = inputs if "inputs" in rule and (len(inputs) > 1 or used or "alone" in rule) else ()
        if "copies" in rule and len(inputs) > 1 and not used:
            kept = tuple(tape.op("transpose", (), tape.values[value].size, own=True) for value in inputs)
        index, size = row["outputs"][0]
        out = tape.op(row["kind"].lower(), inputs, size // batch, keeps=kept, own="output" in rule, weights=tuple(used),
                      view=view, flops=row["flops"] // batch)  # fmt: skip
        here[index] = out
        for index, size in row["outputs"][1:]:
            here[index] = tape.op("statistics", (), size // batch, own=bool(rule))
            if rule:
                tape.ops[-2] = tape.ops[-2]._replace(keeps=(*tape.ops[-2].keeps, here[index]))
        if row["outputs"][1:]:
            # The main output must stay the last one: it is what the next layer reads.
            tape.ops.append(tape.ops.pop(-len(row["outputs"])))
    return tape
