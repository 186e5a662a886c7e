"""`jumar parallel`: which plan fits on these cards, which is fastest, and the code for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.cli import show
from jumar.cli.options import Number, chip
from jumar.cli.progress import Progress, Waiting
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK, UserError
from jumar.core.lang import t

if TYPE_CHECKING:
    from jumar.app.parallel import ParallelResult
    from jumar.parallel.hardware import Hardware

SPELLINGS = ("mindspore", "mindspore-old", "torch", "network")
COUNT = click.IntRange(min=1)


@click.command("parallel", short_help="Find a parallel plan that fits these cards, and its code")
@click.argument("model", metavar="[MODEL | explain [MODE]]", nargs=-1)
@click.option("--cards", type=COUNT, metavar="N", default=8, show_default=True, help="Cards in all.")
@chip("chip", "Chip, such as 910B3 or 910_9391.", default="910B3", show_default=True)
@click.option("--global-batch", type=COUNT, metavar="N", help="Samples per step over all cards; default one per card.")
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
    help="Optimizer; its state needs memory.",
)
@click.option("--attention", type=click.Choice(["plain", "flash"]), help="Scores as a matrix, or the fused operator.")
@click.option("--framework", type=click.Choice(["mindspore", "torch"]), help="Framework of the code and launch line.")
@click.option("--dp", type=COUNT, metavar="N", help="Fix the data-parallel cards.")
@click.option("--tp", type=COUNT, metavar="N", help="Fix the tensor-parallel cards.")
@click.option("--pp", type=COUNT, metavar="N", help="Fix the pipeline stages.")
@click.option("--ep", type=COUNT, metavar="N", help="Fix the expert-parallel cards.")
@click.option("--cp", type=COUNT, metavar="N", help="Fix the context-parallel cards; modelled, not generated.")
@click.option("--micro-batches", type=COUNT, metavar="N", help="Fix the micro-batches of a step.")
@click.option("--shard", type=click.IntRange(0, 3), metavar="LEVEL", help="Fix the optimizer shard: 0 none, 1 to 3.")
@click.option("--recompute", type=click.Choice(["none", "selective", "full"]), help="Fix what is recomputed.")
@click.option("--schedule", type=click.Choice(["1f1b", "gpipe", "interleaved"]), help="Fix the pipeline's schedule.")
@click.option("--sequence/--no-sequence", default=None, help="Fix sequence parallel.")
@click.option("--offload/--no-offload", default=None,
              help="Fix whether activations go to the host; modelled, not generated.")  # fmt: skip
@click.option("--layers", metavar="N,N…", help="Fix the layers of each stage.")
@click.option("--equal-stages", type=Number(0, 100), metavar="PERCENT",
              help="Only plans whose stage times differ by at most this much.")  # fmt: skip
@click.option("--unproved", is_flag=True, help="Also show plans that no command can prove.")
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
    """Find how to divide MODEL over cards: a preset, a config.json, or file.py:make_model.

    `jumar parallel explain [MODE]` draws what each mode does to a product.
    """
    from jumar.app import parallel

    constants = _numbers(options.pop("settings"))
    listed, kind, html, as_json = (options.pop(name) for name in ("listed", "code", "html", "as_json"))
    if listed:
        return _list(parallel.presets(), parallel.hardware(options["chip"], constants, options["memory"]))
    if model[:1] == ("explain",):
        return _explain(model[1:], options["cards"])
    if len(model) != 1:
        raise UserError(
            "give one model", "`jumar parallel llama-7b --cards 8`; `jumar parallel --list` names the presets"
        )
    equal = options.pop("equal_stages")
    options |= {"layers": _counts(options["layers"]), "equal_stages": None if equal is None else equal / 100}
    request = parallel.ParallelRequest(model=model[0], constants=constants, **options)
    if kind:
        text, fits = parallel.code(request, kind)
        show.echo(text, nl=False)
        return EXIT_OK if fits else EXIT_FINDINGS
    with Waiting("searching for a plan") as line, Progress(what="searching for a plan") as bar:

        def tell(text: str, /) -> None:
            line.close()
            bar.close()
            show.say(text, err=True)

        def progress(done: int, total: int, /) -> None:
            line.close()
            bar(done, total)

        result = parallel.parallel(request, tell, progress)
    return _show(result, html, as_json)


def _show(result: ParallelResult, html: Path | None, as_json: bool) -> int:
    if html:
        from jumar.core import write

        write.replace(html, result.html().encode())
        show.say(f"wrote `{html}`", err=True)
    if as_json:
        show.whole(result.to_json())
    else:
        show.say(result.text)
    return EXIT_OK if result.fits else EXIT_FINDINGS


def _explain(words: tuple[str, ...], cards: int) -> int:
    from jumar.report import parallel_explain

    if len(words) > 1:
        raise UserError(f"one mode at a time, not {len(words)}")
    if cards < 2:
        raise UserError("one card has nothing to divide", "`--cards 2` or more")
    for name in parallel_explain.modes(words[0] if words else ""):
        show.told(parallel_explain.page(name, cards))
    return EXIT_OK


def _list(presets: dict[str, str], hardware: Hardware) -> int:
    from jumar.report import parallel

    show.lines([*parallel.grid([("preset", "source"), *presets.items()]), ""])
    table = [("constant", "value", "unit", "confidence", "source")]
    table += [
        (key, f"{row.value:g}", t(row.unit), t(row.confidence), t(row.source))
        for key, row in sorted(hardware.constants.items())
    ]
    show.lines(parallel.grid(table))
    return EXIT_OK


def _numbers(given: tuple[str, ...]) -> dict[str, float]:
    """The constants that the user gives."""
    changes: dict[str, float] = {}
    for word in given:
        name, _, value = word.partition("=")
        try:
            changes[name] = float(value)
        except ValueError:
            raise UserError(f"not NAME=VALUE: `{word}`", "such as `--set hccs=150`") from None
    return changes


def _counts(word: str | None) -> tuple[int, ...] | None:
    """The layers of each stage."""
    if word is None:
        return None
    try:
        return tuple(int(part) for part in word.split(","))
    except ValueError:
        raise UserError(f"not counts of layers: `{word}`", "such as `--layers 15,17`") from None
