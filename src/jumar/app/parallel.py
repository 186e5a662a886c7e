"""`jumar parallel`: which plan fits on these cards, which is fastest, the code for it, and the proof."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from jumar.app.talk import Progress, Tell, silent
from jumar.core.compat import alone, dataclass
from jumar.core.errors import UserError

if TYPE_CHECKING:
    from jumar.parallel.hardware import Hardware
    from jumar.parallel.network import Network
    from jumar.parallel.result import Result
    from jumar.parallel.search import Answer, Found, Search
    from jumar.parallel.space import PlanRequest

KEEP = 20
"""Plans that a search keeps at least."""
SPELLINGS = ("mindspore", "mindspore-old", "torch", "network")
MODEL = ("name", "family", "source", "layers", "hidden", "inner", "heads", "kv_heads", "vocab", "seq", "computed",
         "kept", "attention")  # fmt: skip
_FIXED = ("cards", "dp", "tp", "pp", "micro_batches", "shard", "recompute", "schedule", "sequence", "ep", "cp",
          "offload", "layers", "equal_stages", "unproved")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelRequest:
    """A network, the cards to share it over, and what of the plan is fixed; None is free."""

    model: str
    """A preset, a config.json, or `file.py:make_model`."""
    cards: int = 8
    chip: str = "910B3"
    global_batch: int | None = None
    """Samples per step over all cards; default one per card."""
    seq: int | None = None
    dtype: str | None = None
    params: str | None = None
    optimizer: str = "adam"
    attention: str | None = None
    framework: str | None = None
    dp: int | None = None
    tp: int | None = None
    pp: int | None = None
    ep: int | None = None
    cp: int | None = None
    micro_batches: int | None = None
    shard: int | None = None
    recompute: str | None = None
    schedule: str | None = None
    sequence: bool | None = None
    offload: bool | None = None
    layers: tuple[int, ...] | None = None
    """Layers of each stage."""
    equal_stages: float | None = None
    """Share by which a stage may be faster than the slowest."""
    unproved: bool = False
    """Also plans that no command can prove."""
    memory: str | None = None
    """Memory of a card, such as `32G`."""
    constants: Mapping[str, float] = field(default_factory=dict)
    """Constants of the hardware to replace."""
    top: int = 5
    """Plans that the result holds."""
    prove: int = 0
    """Check so many of the best plans by compiling or running them."""
    prove_layers: int | None = None
    prove_limit: float = 900
    """Seconds for one compilation or run."""
    python: str | None = None
    """Python with MindSpore, or with what `file.py` imports."""


@dataclass(frozen=True, slots=True, repr=False)
class ParallelResult:
    """The plans that fit, the best first; the leanest one if none does."""

    result: Result
    search: Search
    best: Found

    @property
    def fits(self) -> bool:
        """Does any plan fit on these cards?"""
        return self.result.fits

    @property
    def plans(self) -> tuple[Found, ...]:
        """The best plans, with memory and modelled time."""
        return tuple(self.result.shown)

    @property
    def text(self) -> str:
        """Table, answers and proofs for people."""
        from jumar.report import parallel

        return "\n".join([*parallel.text(self.result), *(parallel.proof(self.result) if self.result.proofs else [])])

    def code(self, kind: str = "torch") -> str:
        """The program of the best plan: one of `SPELLINGS`."""
        return _code(kind, self.search, self.best)

    def html(self) -> str:
        """One self-contained page with pictures."""
        from jumar.report.pages import parallel

        return parallel.page(self.to_json()).html()

    def to_json(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        from jumar.report import json, parallel

        return json.document(parallel.data(self.result))

    def __repr__(self) -> str:
        verb = "fits" if self.fits else "does not fit"
        return f"<ParallelResult {self.search.net.name} on {self.result.cards} cards: `{self.best.plan.name}` {verb}>"

    def __str__(self) -> str:
        return self.text


def parallel(request: ParallelRequest, tell: Tell = silent, progress: Progress | None = None) -> ParallelResult:
    """Search the plans, answer the usual questions, and prove what is to be proven."""
    search, answer, best, wish = _searched(request, progress)
    result = _result(search, answer, best, wish, request)
    if request.prove:
        _prove(search, answer, best, result, request, tell)
    return ParallelResult(result, search, best)


def code(request: ParallelRequest, kind: str) -> tuple[str, bool]:
    """The program of the best plan, and whether that plan fits; quicker than the whole result."""
    search, _, best, _ = _searched(request)
    return _code(kind, search, best), best.fits


def presets() -> dict[str, str]:
    """The known networks by name, each with the source of its numbers."""
    from jumar.parallel import models

    return {name: row["source"] for name, row in models.presets().items()}


def hardware(chip: str, constants: Mapping[str, float], memory: str | None = None) -> Hardware:
    """A chip and its constants, some of them replaced."""
    from jumar.parallel import hardware as known

    changes = dict(constants)
    if memory:
        changes["memory"] = _mebibytes(memory)
    return known.find(chip, changes)


def _searched(request: ParallelRequest, progress: Progress | None = None) -> tuple[Search, Answer, Found, PlanRequest]:
    from jumar.parallel.plan import Job
    from jumar.parallel.search import Search
    from jumar.parallel.space import PlanRequest

    machine = hardware(request.chip, request.constants, request.memory)
    net = _network(request)
    wish = PlanRequest(**{name: getattr(request, name) for name in _FIXED})
    job = Job(request.global_batch or (wish.dp or wish.cards), request.optimizer)
    search = Search(net, job, machine)
    answer = search.run(wish, keep=max(KEEP, request.top, request.prove), progress=progress)
    best = answer.best or answer.leanest
    if best is None:
        raise UserError("no plan meets these options", "fix less")
    return search, answer, best, wish


def _network(request: ParallelRequest) -> Network:
    """The network with the words that the user changes."""
    from jumar.parallel import models

    net = models.find(request.model, _interpreter(request), request.seq)
    changes: dict[str, Any] = {}
    if request.seq and net.picture:
        raise UserError(
            f"`{net.name}` cuts a picture of {net.picture.side} by {net.picture.side} into {net.seq} tokens",
            "change `image_size` or `patch_size` in the file, and leave out `--seq`",
        )
    if request.seq and net.heads:
        changes |= {"seq": request.seq, "input_bytes": request.seq * 8}
    elif request.seq and not net.traced:
        raise UserError(f"`{net.name}` has no sequence", "leave out `--seq`")
    given = {"computed": request.dtype, "kept": request.params, "framework": request.framework,
             "attention": request.attention}  # fmt: skip
    changes |= {name: value for name, value in given.items() if value}
    if not request.attention and net.heads and not net.traced:
        changes["attention"] = hardware(request.chip, {}).attention
    net = net.with_(**changes) if changes else net
    if (net.framework, net.kept) == ("mindspore", "bfloat16") and request.optimizer != "adamw":
        raise UserError(
            f"MindSpore's optimizer for `{request.optimizer}` takes no weights in bfloat16",
            "`--optimizer adamw`, or keep the weights in float32 (leave out `--params`)",
        )
    return net


def _interpreter(request: ParallelRequest) -> str:
    from jumar.runtime import variables

    return str(request.python or variables.MINDSPORE_PYTHON.read() or sys.executable)


def _mebibytes(word: str) -> float:
    units = {"G": 1024.0, "GB": 1024.0, "GIB": 1024.0, "M": 1.0, "MB": 1.0, "MIB": 1.0}
    digits = word.rstrip("GMIBgmib")
    try:
        return float(digits) * units[word[len(digits) :].upper()]
    except (KeyError, ValueError):
        raise UserError(f"not a size of memory: `{word}`", "such as `32G`") from None


def _result(search: Search, answer: Answer, best: Found, wish: PlanRequest, request: ParallelRequest) -> Result:
    from jumar.app import parallel_commands
    from jumar.parallel import advice, error, knobs, provable
    from jumar.parallel import code as codes
    from jumar.parallel.result import Result
    from jumar.report import parallel_answers as told

    fewest = advice.fewest(search, replace(wish, micro_batches=None) if wish.pp is None else wish)
    base = advice.plainest(search, wish, best)
    rows = knobs.knobs(search, base)
    beyond = None if answer.best else advice.beyond(search, wish)
    answers = [told.fit(search, answer, best, beyond, KEEP), told.fewest(fewest, advice.LARGEST)]
    answers += [told.knobs(base, rows)] if rows else []
    answers += [("why do the stages differ?", advice.stages(best))] if best.plan.pp > 1 else []
    answers += [("what if the batch doubles?", [advice.doubled(search, best)])]
    answers += [told.front(answer.front)] if len(answer.front) > 1 else []
    net, machine = search.net, search.hardware
    model = {name: getattr(net, name) for name in MODEL}
    model |= {"parameters": net.parameters, "global_batch": search.job.global_batch, "optimizer": search.job.optimizer}
    shown = answer.fitting[: request.top] or [best]
    launch = codes.launch(net, best, int(machine["cards_per_node"]))
    steps = parallel_commands.commands(
        replace(request, global_batch=search.job.global_batch),
        best,
        launch,
        torch=net.framework == "torch",
        traced=net.family == "traced",
    )
    return Result(
        model, machine.chip, wish.cards, machine.usable, machine.constants, told.head(search, answer),
        shown, answer.front, answer.looked, answer.best is not None,
        fewest[0] if fewest else None, answers, launch,
        [] if answer.unproved else steps, [provable.reason(net, found.plan) for found in shown],
        error.bar(net), error.times(machine.family), [(name, _code(name, search, best)) for name in SPELLINGS[:3]],
    )  # fmt: skip


def _code(kind: str, search: Search, best: Found) -> str:
    from jumar.parallel import code as codes
    from jumar.parallel import code_mindspore, code_torch

    if kind not in SPELLINGS:
        raise UserError(f"no code for `{kind}`", f"one of {', '.join(SPELLINGS)}")
    if kind == "network":
        return codes.network(search.net, search.job, best)
    if kind == "torch":
        return code_torch.program(search.net, search.job, best)
    return (code_mindspore.new if kind == "mindspore" else code_mindspore.old)(search.net, search.job, best)


def _prove(search: Search, answer: Answer, best: Found, result: Result, request: ParallelRequest, tell: Tell) -> None:
    """Compile or run the best plans; each starts in an interpreter of its own, which may be another Python."""
    from jumar.parallel import provable, prove, prove_torch

    torch = search.net.framework == "torch"
    way = prove_torch.prove if torch else prove.prove
    starter = [sys.executable, *alone("from jumar.__main__ import main\nsys.exit(main())"), "run",
               *(["--dry", "--steps", "0"] if torch else ["--python", _interpreter(request)])]  # fmt: skip
    net = search.net
    chosen = [found for found in answer.fitting or [best] if not provable.reason(net, found.plan)][: request.prove]
    if not chosen:
        raise UserError(f"cannot prove `{best.plan.name}`: {answer.unproved}", "fix another plan")
    for found in chosen:
        tell(f"{'running' if torch else 'compiling'} `{found.plan.name}`")
        proof = way(search, found, starter, depth=request.prove_layers, limit=request.prove_limit)
        result.proofs.append(proof)
