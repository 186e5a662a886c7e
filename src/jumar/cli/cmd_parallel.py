"""`jumar parallel`: which plan fits on these cards, which is fastest, and the code for it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.core.errors import EXIT_FINDINGS, EXIT_OK, UserError

if TYPE_CHECKING:
    from jumar.parallel.space import PlanRequest

SPELLINGS = ("mindspore", "mindspore-old", "torch", "network")
COUNT = click.IntRange(min=1)


@click.command("parallel", short_help="Which parallel plan fits on these cards, and its code")
@click.argument("model", metavar="[MODEL | explain [MODE]]", nargs=-1)
@click.option("--cards", type=COUNT, metavar="N", default=8, show_default=True, help="Cards in all.")
@click.option("--chip", metavar="NAME", default="910B3", show_default=True, help="Chip, such as 910B3 or 910_9391.")
@click.option(
    "--global-batch", type=COUNT, metavar="N", help="Samples of a step over all cards; one per card if not given."
)
@click.option("--seq", type=COUNT, metavar="N", help="Tokens of a sample.")
@click.option("--dtype", type=click.Choice(["bfloat16", "float16", "float32"]), help="Dtype that operators compute in.")
@click.option(
    "--params", type=click.Choice(["float32", "bfloat16", "float16"]), help="Dtype that weights are kept in; float32."
)
@click.option(
    "--optimizer",
    type=click.Choice(["adam", "adamw", "momentum", "sgd"]),
    default="adam",
    show_default=True,
    help="Its state counts.",
)
@click.option("--attention", type=click.Choice(["plain", "flash"]), help="Scores as a matrix, or the fused operator.")
@click.option("--framework", type=click.Choice(["mindspore", "torch"]), help="Whose code and launch line.")
@click.option("--dp", type=COUNT, metavar="N", help="Fix the data-parallel cards.")
@click.option("--tp", type=COUNT, metavar="N", help="Fix the tensor-parallel cards.")
@click.option("--pp", type=COUNT, metavar="N", help="Fix the pipeline stages.")
@click.option("--ep", type=COUNT, metavar="N", help="Fix the expert-parallel cards.")
@click.option("--micro-batches", type=COUNT, metavar="N", help="Fix the micro-batches of a step.")
@click.option("--shard", type=click.IntRange(0, 3), metavar="LEVEL", help="Fix the optimizer shard: 0 none, 1 to 3.")
@click.option("--recompute", type=click.Choice(["none", "selective", "full"]), help="Fix what is computed again.")
@click.option("--schedule", type=click.Choice(["1f1b", "gpipe", "interleaved"]), help="Fix the pipeline's schedule.")
@click.option("--sequence/--no-sequence", default=None, help="Fix sequence parallel.")
@click.option("--layers", metavar="N,N…", help="Fix the layers of each stage.")
@click.option("--equal-stages", type=click.FloatRange(0, 100), metavar="PERCENT",
              help="Only plans whose stages take equal time, to within this much.")  # fmt: skip
@click.option("--memory", metavar="SIZE", help="Memory of a card, such as 32G.")
@click.option(
    "--set", "settings", metavar="NAME=VALUE", multiple=True, help="Replace a constant of the hardware; see --list."
)
@click.option("--top", type=COUNT, metavar="N", default=5, show_default=True, help="Plans in the table.")
@click.option("--list", "listed", is_flag=True, help="List the presets and the constants, and stop.")
@click.option("--code", type=click.Choice(SPELLINGS), help="Print the code of the best plan instead of the table.")
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Write one page with pictures.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option(
    "--prove",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    help="Check the N best plans: by MindSpore's compiler, those for PyTorch by a run on emulated NPUs.",
)
@click.option(
    "--prove-layers",
    type=COUNT,
    metavar="N",
    help="Layers of the network in the proof; PyTorch also runs twice as many.",
)
@click.option(
    "--prove-limit",
    type=COUNT,
    metavar="SECONDS",
    default=900,
    show_default=True,
    help="Time for one compilation or run.",
)
@click.option("--python", metavar="PATH", help="Python with MindSpore or with what `file.py` imports.")
def command(model: tuple[str, ...], **options: Any) -> int:
    """Find how to share MODEL over cards: a preset, a config.json, or file.py:make_model.

    `jumar parallel explain [MODE]` draws what each way of sharing does to a product.
    """
    if options["listed"]:
        return _list(options)
    if model[:1] == ("explain",):
        return _explain(model[1:], options["cards"])
    if len(model) != 1:
        raise UserError(
            "give one model", "`jumar parallel llama-7b --cards 8`; `jumar parallel --list` names the presets"
        )
    from jumar.cli import parallel_view

    return parallel_view.run(model[0], options)


def _explain(words: tuple[str, ...], cards: int) -> int:
    from jumar.parallel import explain

    if len(words) > 1:
        raise UserError(f"one mode at a time, not {len(words)}")
    if cards < 2:
        raise UserError("one card shares nothing", "`--cards 2` or more")
    for name in explain.modes(words[0] if words else ""):
        click.echo("\n".join(explain.page(name, cards)))
    return EXIT_OK


def _list(options: dict[str, Any]) -> int:
    from jumar.parallel import hardware, models
    from jumar.report import parallel

    found = hardware.find(options["chip"], numbers(options))
    rows = [("preset", "source"), *((name, row["source"]) for name, row in models.presets().items())]
    click.echo("\n".join(parallel.grid(rows)) + "\n")
    table = [("constant", "value", "unit", "confidence", "source")]
    table += [
        (key, f"{row.value:g}", row.unit, row.confidence, row.source) for key, row in sorted(found.constants.items())
    ]
    click.echo("\n".join(parallel.grid(table)))
    return EXIT_OK


def numbers(options: dict[str, Any]) -> dict[str, float]:
    """The constants that the user gives."""
    changes: dict[str, float] = {}
    for word in options["settings"]:
        name, equals, value = word.partition("=")
        try:
            changes[name] = float(value)
        except ValueError:
            raise UserError(f"not NAME=VALUE: `{word}`", "such as `--set hccs=150`") from None
        if not equals:
            raise UserError(f"not NAME=VALUE: `{word}`", "such as `--set hccs=150`")
    if options["memory"]:
        changes["memory"] = _mebibytes(options["memory"])
    return changes


def _mebibytes(word: str) -> float:
    units = {"G": 1024.0, "GB": 1024.0, "GIB": 1024.0, "M": 1.0, "MB": 1.0, "MIB": 1.0}
    digits = word.rstrip("GMIBgmib")
    try:
        return float(digits) * units[word[len(digits) :].upper()]
    except (KeyError, ValueError):
        raise UserError(f"not a size of memory: `{word}`", "such as `32G`") from None


def interpreter(options: dict[str, Any]) -> str:
    return str(options["python"] or os.environ.get("JUMAR_MINDSPORE_PYTHON") or sys.executable)


def counts(word: str | None) -> tuple[int, ...] | None:
    """The layers of each stage."""
    if word is None:
        return None
    try:
        return tuple(int(part) for part in word.split(","))
    except ValueError:
        raise UserError(f"not counts of layers: `{word}`", "such as `--layers 15,17`") from None


def exit_code(fits: bool) -> int:
    return EXIT_OK if fits else EXIT_FINDINGS


def wish(options: dict[str, Any]) -> PlanRequest:
    from jumar.parallel.space import PlanRequest

    names = ("cards", "dp", "tp", "pp", "micro_batches", "shard", "recompute", "schedule", "sequence", "ep")
    equal = options["equal_stages"]
    return PlanRequest(
        **{name: options[name] for name in names},
        layers=counts(options["layers"]),
        equal_stages=None if equal is None else equal / 100,
    )
