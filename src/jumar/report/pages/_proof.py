"""What running a project showed, as a section of its page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jumar.core.held import Held
from jumar.emulate.proof.result import Missing, Verdict
from jumar.report import parts
from jumar.report import proof as proofs
from jumar.report.page import Section
from jumar.report.parts import Markup
from jumar.report.words import t

ON_PAGE = 100
"""Cases of one verdict."""


def section(fields: dict[str, Any]) -> Section:
    hue = {Verdict.SAME.value: "green", Verdict.WORSE.value: "red"}.get(fields["verdict"], "amber")
    said = Markup('<p class="verdict c-{}"><span class="badge">{}</span> {}</p>').format(
        hue, t("proof"), parts.code(fields["told"])
    )
    return Section(t("What running it showed"), said + Markup("").join(_parts(fields)), "proof")


def _parts(fields: dict[str, Any]) -> Iterator[Markup]:
    counts = {name: fields[name]["counts"] for name in ("modules", "tests") if fields[name]["counts"]}
    rows = [
        (kind.value, *(f"{one.get(kind.value, 0):,}" for one in counts.values()))
        for kind in Verdict
        if any(kind.value in one for one in counts.values())
    ]
    if rows:
        yield parts.table([t("on the emulator"), *counts], rows, numbers=range(1, 3), name=t("proof"))
    for kind, title in proofs.TITLES.items():
        cases = [case for case in fields["cases"] if case["verdict"] == kind.value]
        if cases:
            is_worse = kind is Verdict.WORSE
            shown = Markup("").join(_case(case, is_worse) for case in cases[:ON_PAGE])
            more = len(cases) - ON_PAGE
            cut = parts.note(t("… and {count} more; `--json` holds them all", count=f"{more:,}")) if more > 0 else ""
            yield parts.fold(f"{title}: {len(cases):,}", shown + cut, is_open=is_worse)
    missing = [Missing(one["module"], one["pip"] or "", one["note"] or "", one["cases"]) for one in fields["missing"]]
    told = [
        *(proofs.missing(one).strip() for one in missing),
        *fields["notes"],
        Held(**fields["sandbox"]).sentence,
    ]
    install = " ".join(one.pip for one in missing if one.pip and not one.note)
    if install:
        told.append(
            t("To compare more, install what is missing and run it again: `pip install {names}`", names=install)
        )
    yield parts.bullets(told)


def _case(case: dict[str, Any], is_worse: bool) -> Markup:
    before, after = case["before"], case["after"]
    said = (after["error"] or after["end"] if is_worse else case["reason"] or before["error"]) or ""
    place = after["site"] if is_worse and after["site"] else case["path"]
    trace = parts.pre("\n".join(after["trace"])) if is_worse and after["trace"] else Markup("")
    body = Markup('<p>{} <span class="soft">{}</span></p>{}').format(parts.code(said[: proofs.LONGEST]), place, trace)
    return parts.panel(case["name"], body, hue="red" if is_worse else "grey")
