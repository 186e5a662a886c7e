"""Puts the parts of `jumar parallel` together: network, search, answers, proof, and what is printed."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import click

from jumar.cli.cmd_parallel import exit_code, interpreter, numbers, wish
from jumar.core.errors import UserError
from jumar.parallel import advice, code, code_mindspore, code_torch, hardware, models
from jumar.parallel.network import Network
from jumar.parallel.plan import Job
from jumar.parallel.result import Result
from jumar.parallel.search import Answer, Found, Search
from jumar.parallel.space import PlanRequest

KEEP = 20


def run(word: str, options: dict[str, Any]) -> int:
    machine = hardware.find(options["chip"], numbers(options))
    net = network(word, options)
    wanted = wish(options)
    job = Job(options["global_batch"] or (wanted.dp or wanted.cards), options["optimizer"])
    search = Search(net, job, machine)
    answer = search.run(wanted, keep=max(KEEP, options["top"], options["prove"]))
    best = answer.best or answer.leanest
    if best is None:
        raise UserError("no plan meets these wishes", "fix less")
    if options["code"]:
        click.echo(_code(options["code"], search, best), nl=False)
        return exit_code(best.fits)
    result = _result(search, answer, best, wanted, options["top"])
    if options["prove"]:
        _prove(search, answer, best, result, options)
    return _show(result, options)


def network(word: str, options: dict[str, Any]) -> Network:
    """The network with the words that the user changes."""
    net = models.find(word, interpreter(options), options["seq"])
    changes: dict[str, Any] = {}
    if options["seq"] and net.heads:
        changes |= {"seq": options["seq"], "input_bytes": options["seq"] * 8}
    elif options["seq"] and not net.traced:
        raise UserError(f"`{net.name}` has no sequence", "leave out `--seq`")
    for option, name in (
        ("dtype", "computed"),
        ("params", "kept"),
        ("framework", "framework"),
        ("attention", "attention"),
    ):
        if options[option]:
            changes[name] = options[option]
    if options["framework"] == "torch" and not options["attention"] and net.heads:
        changes["attention"] = "flash"
    return net.with_(**changes) if changes else net


def _head(search: Search, answer: Answer) -> list[str]:
    net, machine = search.net, search.hardware
    kind = f"{net.layers} layers" + (f", width {net.hidden}" if net.hidden else "")
    length = f", {net.seq} tokens" if net.seq > 1 else ""
    lines = [
        f"{net.name}: {net.parameters / 1e9:.2f} billion parameters, {kind}; "
        f"weights {net.kept}, computed in {net.computed}" + (f", {net.attention} attention" if net.heads else ""),
        f"a step: {search.job.global_batch} {net.sample}{'s' if search.job.global_batch != 1 else ''}{length}, "
        f"{search.job.optimizer}; "
        f"{machine.chip}, {machine.usable / (1 << 30):.1f} GiB usable; {answer.looked} plans looked at",
    ]
    return [*lines, *net.notes]


def _result(search: Search, answer: Answer, best: Found, wanted: PlanRequest, top: int) -> Result:
    fewest = advice.fewest(search, replace(wanted, micro_batches=None) if wanted.pp is None else wanted)
    fits = answer.best is not None
    answers: list[tuple[str, list[str]]] = []
    used = advice.GIB
    if fits:
        answers.append(
            (
                "does it fit?",
                [
                    f"yes: {len(answer.fitting)} or more plans fit"
                    if len(answer.fitting) >= KEEP
                    else f"yes: {len(answer.fitting)} plans fit"
                ],
            )
        )
    else:
        over = (best.peak - search.hardware.usable) / used
        answers.append(("does it fit?", [f"no: the leanest plan, `{best.plan.name}`, is {over:.1f} GiB over"]))
    if fewest:
        answers.append(
            ("on how few cards?", [f"{fewest[0]}: `{fewest[1].plan.name}` with {fewest[1].peak / used:.1f} GiB"])
        )
    else:
        answers.append(
            (
                "on how few cards?",
                [f"none up to {advice.LARGEST}: the batch limits how many can be used, or one layer is too large"],
            )
        )
    rows = advice.knobs(search, advice.plainest(search, wanted, best))
    base = advice.plainest(search, wanted, best)
    if rows:
        sentences = [
            f"from `{base.plan.name}` ({base.peak / used:.1f} GiB, {'fits' if base.fits else 'does not fit'}):"
        ]
        sentences += [
            f"{row.name}: {row.peak / used:.1f} GiB, {row.time * 1e3:.0f} ms"
            f"{'' if row.fits else ', does not fit'}; {row.why}"
            for row in rows[:5]
        ]
        answers.append(("which knob first?", sentences))
    if best.plan.pp > 1:
        answers.append(("why does stage 0 need more?", advice.stages(best)))
    answers.append(("what if the batch doubles?", [advice.doubled(search, best)]))
    if len(answer.front) > 1:
        answers.append(
            (
                "time against memory",
                [
                    f"{item.time.total * 1e3:.0f} ms, {item.peak / used:.1f} GiB: {item.plan.name}"
                    for item in answer.front[:8]
                ],
            )
        )
    net = search.net
    model = {
        name: getattr(net, name)
        for name in (
            "name",
            "family",
            "source",
            "layers",
            "hidden",
            "inner",
            "heads",
            "kv_heads",
            "vocab",
            "seq",
            "computed",
            "kept",
            "attention",
        )
    }
    model |= {"parameters": net.parameters, "global_batch": search.job.global_batch, "optimizer": search.job.optimizer}
    shown = answer.fitting[:top] or [best]
    per_node = int(search.hardware["cards_per_node"])
    codes = [(name, _code(name, search, best)) for name in ("mindspore", "mindspore-old", "torch")]
    return Result(
        model, search.hardware.chip, wanted.cards, search.hardware.usable, search.hardware.constants,
        _head(search, answer), shown, answer.front, answer.looked, fits, fewest[0] if fewest else None, answers,
        code.launch(net, best, per_node), codes,
    )  # fmt: skip


def _code(kind: str, search: Search, best: Found) -> str:
    if kind == "network":
        return code.network(search.net, search.job, best)
    if kind == "torch":
        return code_torch.program(search.net, search.job, best)
    return (code_mindspore.new if kind == "mindspore" else code_mindspore.old)(search.net, search.job, best)


def _prove(search: Search, answer: Answer, best: Found, result: Result, options: dict[str, Any]) -> None:
    from jumar.parallel import prove, prove_torch

    torch = search.net.framework == "torch"
    way, refuse = (prove_torch.prove, prove_torch.refuse) if torch else (prove.prove, code.can_generate)
    starter = [sys.executable, "-m", "jumar", *(["launch"] if torch else ["run", "--python", interpreter(options)])]
    chosen = [found for found in answer.fitting or [best] if not refuse(search.net, found)][: options["prove"]]
    if not chosen:
        raise UserError(f"cannot prove `{best.plan.name}`: {refuse(search.net, best)}", "fix another plan")
    for found in chosen:
        click.echo(f"{'running' if torch else 'compiling'} `{found.plan.name}`", err=True)
        result.proofs.append(way(search, found, starter, depth=options["prove_layers"], limit=options["prove_limit"]))


def _show(result: Result, options: dict[str, Any]) -> int:
    from jumar.report import json, parallel

    if options["html"]:
        from jumar.core import write

        write.replace(options["html"], parallel.html(result).encode())
        click.echo(f"wrote `{options['html']}`", err=True)
    if options["as_json"]:
        click.echo(json.dump(parallel.data(result)))
    else:
        click.echo("\n".join([*parallel.text(result), *(parallel.proof(result) if result.proofs else [])]))
    return exit_code(result.fits)
