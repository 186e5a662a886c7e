"""The page of an analysis or a migration: numbers, proof, rules, and every file with its diff and findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jumar.core.finding import State
from jumar.report import changes, json, parts
from jumar.report.page import Page, Section, Stage, Step, Verdict, environment
from jumar.report.pages import _proof
from jumar.report.parts import Cell, Markup
from jumar.report.words import t

if TYPE_CHECKING:
    from jumar.emulate.proof.result import Proof
    from jumar.migrate.result import ProjectResult
    from jumar.migrate.rule import Unit
    from jumar.report.changes import FileView

KINDS = ("analyze", "migrate")
OPEN_ROWS = 1_500
"""A page with more lines than this begins with its files folded."""
HUES = {
    State.REWRITTEN: "green",
    State.HAND: "amber",
    State.UNSUPPORTED: "red",
    State.FALLBACK: "violet",
    State.BENIGN: "grey",
}
KEYS = {
    State.REWRITTEN: "rewritten",
    State.HAND: "hand",
    State.UNSUPPORTED: "unsupported",
    State.FALLBACK: "fallback",
    State.BENIGN: "benign",
}
MEANINGS = {
    State.REWRITTEN: "changed by `jumar migrate`",
    State.HAND: "you have to decide or change it",
    State.UNSUPPORTED: "the target has no counterpart",
    State.FALLBACK: "works, but runs on the CPU or slower",
    State.BENIGN: "nothing to do",
}


def page(document: dict[str, Any]) -> Page:
    views, cut = changes.of_document(document)
    found = [(row["id"], row["doc"], State(row["state"])) for row in document["findings"] if row["state"]]
    return _page(document, views, cut, _rules(found, {}))


def of_result(
    result: ProjectResult, rules: Mapping[str, Unit], proof: Proof | None = None, *, diff: bool = True
) -> Page:
    """With the code around every finding; `proof` is what running the project showed."""
    from jumar.report import proof as proofs

    views, cut = changes.of_result(result)
    document = {
        "kind": "migrate" if diff else "analyze",
        "settings": json.settings(result),
        "summary": json.summary(result),
    }
    if proof is not None:
        document["proof"] = proofs.fields(proof)
    summaries = {id_: unit.rule.summary for id_, unit in rules.items()}
    found = [(item.id, item.doc, item.state) for item in result.findings() if item.state]
    return _page(document, views, cut, _rules(found, summaries))


def _page(document: dict[str, Any], views: list[FileView], cut: list[str], rules: list[dict[str, Any]]) -> Page:
    kind, settings, summary = document["kind"], document["settings"], document["summary"]
    states = {state: summary["states"].get(state.value, 0) for state in State}
    root, proof = summary["root"], document.get("proof")
    return Page(
        kind,
        t("From CUDA to Ascend"),
        root,
        _verdict(states, summary["left"], proof, is_whole=not (settings["skip"] or settings["only"])),
        command=f"jumar {kind} {root}",
        stages=[Stage.CODE, Stage.RUNS] if proof else [Stage.CODE],
        facts=list(_facts(settings, summary)),
        sections=list(_sections(states, summary, views, cut, rules, proof)),
        steps=list(_steps(root, states, rules, proof)),
        points=list(_points(rules)),
        foot=t("`jumar explain ID` explains a rule; benign sites are counted, not listed; `--all` prints them."),
    )


def _verdict(states: dict[State, int], left: int, proof: dict[str, Any] | None, *, is_whole: bool) -> Verdict:
    told = f" {t('Running it: {told}', told=proof['told'])}" if proof else ""
    if proof and proof["verdict"] == "worse":
        return Verdict.bad(told.strip(), t("worse"))
    if not sum(states.values()) and not is_whole:
        return Verdict.unknown(t("Nothing was found; some rules were left out.") + told)
    if not sum(states.values()):
        return Verdict.good(t("Nothing in this project depends on CUDA.") + told, t("nothing to do"))
    if left:
        sites = parts.count(left, "site")
        one = t("{sites} still needs work by hand; `jumar migrate` does the rest.", sites=sites)
        many = t("{sites} still need work by hand; `jumar migrate` does the rest.", sites=sites)
        said = one if left == 1 else many
        return Verdict.warn(said + told, t("work left"))
    done = t("Nothing is left to do by hand.") + told
    return Verdict.unknown(done) if proof and proof["verdict"] == "cannot tell" else Verdict.good(done, t("can move"))


def _facts(settings: dict[str, Any], summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield t("style"), settings["to"]
    yield "torch", settings["torch"]
    yield t("chip"), settings["chip"]
    if settings["multi_card"]:
        yield t("cards"), t("from one card to many")
    if settings["unsafe"]:
        yield t("unsafe changes"), t("included")
    for name, title in (("only", t("only these rules")), ("skip", t("rules left out"))):
        if settings[name]:
            yield title, ", ".join(settings[name])
    if settings.get("from_project"):
        yield t("set by the project's `jumar.toml`"), ", ".join(settings["from_project"])
    yield t("read"), f"{parts.count(summary['scanned'], 'file')}, {parts.count(summary['lines'], 'line')}"


def _steps(
    root: str, states: dict[State, int], rules: list[dict[str, Any]], proof: dict[str, Any] | None
) -> Iterator[Step]:
    if states[State.REWRITTEN]:
        yield Step(t("make the changes, and review the diff"), f"jumar migrate {root} --write")
        if proof is None:
            yield Step(t("prove that every module still imports, on emulated NPUs"), f"jumar migrate {root} --verify")
    for row in [row for row in rules if row["left"]][:3]:
        sites, rule = parts.count(row["left"], "site"), f"`{row['id']}` {row['name']}"
        why = t("{rule}: {sites} to change by hand", rule=rule, sites=sites)
        yield Step(why, f"jumar explain {row['id']}")


def _points(rules: list[dict[str, Any]]) -> Iterator[str]:
    for row in [row for row in rules if row["left"]][:3]:
        yield f"`{row['id']}` {row['summary'] or row['name']}: {parts.count(row['left'], 'site')}"


def _sections(
    states: dict[State, int],
    summary: dict[str, Any],
    views: list[FileView],
    cut: list[str],
    rules: list[dict[str, Any]],
    proof: dict[str, Any] | None,
) -> Iterator[Section]:
    used = [state for state in State if states[state]]
    template = environment().get_template
    notes = Markup("").join(parts.note(f"{sentence}; `--json` and `--sarif` hold everything.") for sentence in cut)
    yield Section(
        "",
        Markup(template("tiles.html").render(states=states, summary=summary, hues=HUES, keys=KEYS, meanings=MEANINGS))
        + notes,
    )
    if proof:
        yield _proof.section(proof)
    if rules:
        yield Section(t("By rule"), _by_rule(rules, used), "rules")
    if views and rules:
        body = template("files.html").render(
            files=views,
            used=used,
            rules=sorted(rules, key=lambda row: row["id"]),
            hues=HUES,
            keys=KEYS,
            unfolded=sum(len(view.rows) for view in views) <= OPEN_ROWS,
        )
        yield Section(t("By file"), Markup(body), "files")


def _by_rule(rules: list[dict[str, Any]], used: list[State]) -> Markup:
    heads = [t("rule"), t("what it finds"), *(t(state.value) for state in used)]
    rows = [
        (
            Cell(
                Markup('<a href="#files" class="pick" data-rule="{}">{}</a> {}').format(
                    row["id"], row["id"], row["name"]
                ),
                row["id"],
            ),
            row["summary"],
            *(_count(row["states"][state], HUES[state]) for state in used),
        )
        for row in rules
    ]
    return parts.table(heads, rows, numbers=range(2, len(heads)), name=t("rules"))


def _count(number: int, hue: str) -> Cell:
    return Cell(f"{number:,}" if number else "", number, hue if number else "")


def _rules(items: Iterable[tuple[str, str | None, State]], summaries: Mapping[str, str]) -> list[dict[str, Any]]:
    """What was found by rule, the most work first."""
    by_id: dict[str, Counter[State]] = {}
    names: dict[str, str] = {}
    for id_, name, state in items:
        by_id.setdefault(id_, Counter())[state] += 1
        names.setdefault(id_, name or "")
    rows = []
    for id_, states in by_id.items():
        left = sum(states.values()) - states[State.REWRITTEN] - states[State.BENIGN]
        rows.append({"id": id_, "name": names[id_], "summary": summaries.get(id_, ""), "states": states, "left": left})
    return sorted(rows, key=lambda row: (-row["left"], -sum(row["states"].values()), row["id"]))
