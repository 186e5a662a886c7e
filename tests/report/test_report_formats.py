"""Each format of the sample result: golden files for the whole, and the promises that a schema would make."""

from __future__ import annotations

import csv as stdlib_csv
import json as stdlib_json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sample
from page_parser import Parsed

from jumar import __version__
from jumar.core.edit import Edit
from jumar.core.finding import Finding, Level, State, Where
from jumar.emulate.proof.result import Case, End, Missing, Outcome, Proof, Verdict
from jumar.migrate.result import FileResult, ProjectResult
from jumar.migrate.rule import Rule, Unit, all_rules
from jumar.migrate.settings import Settings
from jumar.report import changes, csv, json, sarif, text
from jumar.report.pages import migrate
from jumar.tables.pages import Page, address

Golden = Callable[[str, str], None]
RULES = {
    "CU101": Unit(Rule("CU101", "cuda-kernel", "a CUDA kernel", ()), "native"),
    "PT102": Unit(Rule("PT102", "torch-cuda-name", "a name of `torch.cuda`", ()), "python"),
}
PAGES = {"PT102": Page("PT102", "torch-cuda-name", "python", "# PT102 torch-cuda-name\n\nA page.\n")}


def test_text(golden: Golden) -> None:
    result = sample.result()
    lines = [*text.findings(result.findings(), list(State)), ""]
    lines += [*text.summary(result), "", *text.summary(result, done="written")]
    golden("report/sample.txt", "\n".join(lines) + "\n")


def test_text_shows_only_the_states_asked_for() -> None:
    lines = list(text.findings(sample.result().findings(), text.REST))
    assert not any("note" in line for line in lines)
    assert "project/train.py:6:1: PT102 error `torch.cuda.cudart` has no counterpart" in lines
    assert lines[lines.index("project/train.py:6:1: PT102 error `torch.cuda.cudart` has no counterpart") + 1] == (
        "    fix: use `torch_npu.profiler` instead"
    )


def test_colour_is_only_decoration() -> None:
    result = sample.result()
    plain = list(text.findings(result.findings(), list(State)))
    painted = list(text.findings(result.findings(), list(State), colour=True))
    strip = re.compile(r"\x1b\[\d+m")
    assert [strip.sub("", line) for line in painted] == plain != painted
    file = result.files[1]
    assert strip.sub("", text.diff(file, colour=True).decode()) == text.diff(file).decode()


def test_json(golden: Golden) -> None:
    golden("report/sample.json", json.render(sample.result()).replace(__version__, "VERSION") + "\n")


def test_json_fields_are_all_documented() -> None:
    document = stdlib_json.loads(json.render(sample.result()))
    error = stdlib_json.loads(json.render_error(json.UserError("m", "h")))
    assert set(_paths(document)) | set(_paths(error)) == set(json.FIELDS)


def _paths(value: Any, prefix: str = "") -> list[str]:
    if isinstance(value, dict) and not prefix.endswith(".states"):
        return [found for key, inner in value.items() for found in _paths(inner, f"{prefix}.{key}".lstrip("."))]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [found for inner in value for found in _paths(inner, f"{prefix}[]")]
    if value is None or value == []:
        return [prefix] if prefix in json.FIELDS else []
    return [prefix]


def test_csv(golden: Golden) -> None:
    for name, table in csv.render(sample.result(), RULES).items():
        golden(f"report/{name}", table)


def test_csv_rows_have_the_columns_of_their_head() -> None:
    for name, table in csv.render(sample.result(), RULES).items():
        rows = list(stdlib_csv.reader(table.splitlines()))
        assert len({len(row) for row in rows}) == 1, name


def test_sarif_has_what_the_standard_requires() -> None:
    log = stdlib_json.loads(sarif.render(sample.result(), RULES, PAGES))
    assert log["version"] == "2.1.0" and log["$schema"].startswith("https://")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "jumar"
    ids = [rule["id"] for rule in driver["rules"]]
    assert ids == sorted(set(ids))
    assert len(run["results"]) == len(list(sample.result().findings()))
    for entry in run["results"]:
        assert entry["message"]["text"]
        assert entry["level"] in ("error", "warning", "note", "none")
        assert ids[entry["ruleIndex"]] == entry["ruleId"]
        (location,) = entry["locations"]
        place = location["physicalLocation"]
        assert not place["artifactLocation"]["uri"].startswith("/")
        region = place.get("region")
        if region:
            assert region["startLine"] >= 1 and region["startColumn"] >= 1
            assert (region["endLine"], region["endColumn"]) >= (region["startLine"], region["startColumn"])
    help_texts = [rule["help"]["text"] for rule in driver["rules"] if "help" in rule]
    assert help_texts == ["# PT102 torch-cuda-name\n\nA page.\n"]
    assert [rule["helpUri"] for rule in driver["rules"] if "help" in rule] == [address("PT102")]


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
def test_sarif_fixes_give_the_new_text(bom: bytes) -> None:
    """Offsets count characters, though the file holds Chinese; the made fixes together are the change."""
    result = sample.result()
    train = replace(result.files[1], before=bom + result.files[1].before, after=bom + result.files[1].after)
    log = stdlib_json.loads(sarif.render(replace(result, files=(train,)), RULES, PAGES))
    made = [
        (spot["deletedRegion"]["charOffset"], spot["deletedRegion"]["charLength"], spot["insertedContent"]["text"])
        for entry in log["runs"][0]["results"]
        if entry["properties"]["state"] == "rewritten"
        for fix in entry["fixes"]
        for change in fix["artifactChanges"]
        for spot in change["replacements"]
    ]
    words = train.before.decode("utf-8-sig")
    for start, length, new in sorted(made, reverse=True):
        words = words[:start] + new + words[start + length :]
    assert words == train.after.decode("utf-8-sig")


def test_sarif_gives_no_fix_when_the_edits_do_not_explain_the_change() -> None:
    """Findings of a second round have offsets of a text that nobody sees."""
    train = sample.result().files[1]
    odd = replace(train, after=train.after + b"# more\n")
    known = odd.exact_edits()
    assert [item.state for item in odd.findings if id(item) in known] == [State.HAND]


def test_sarif_escapes_paths() -> None:
    where = Where("a b/ü.py", 1, 1, 1, 2)
    item = Finding("PT102", Level.NOTE, "m", where, state=State.BENIGN)
    result = ProjectResult("a b", (FileResult(where.path, b"x", b"x", (item,)),), Settings())
    log = stdlib_json.loads(sarif.render(result, RULES, PAGES))
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b/%C3%BC.py"


def _page(result: ProjectResult) -> str:
    return migrate.of_result(result, RULES).html()


def test_page_is_well_formed_and_self_contained() -> None:
    page = _page(sample.result())
    parsed = Parsed(page)
    assert parsed.open == []
    assert parsed.loads == []
    assert len(set(parsed.ids)) == len(parsed.ids)
    assert all(link.startswith("#") and link[1:] in parsed.ids for link in parsed.links)
    assert "url(" not in page and "@import" not in page


def test_page_escapes_what_users_wrote() -> None:
    page = _page(sample.result("<i>root</i>"))
    assert "<b>bold</b>" not in page and "&lt;b&gt;bold&lt;/b&gt;" in page
    assert "a <script>" not in page and "a &lt;script&gt; for you" in page
    assert "<i>root" not in page
    assert page.count("<script>") == 1 and page.count("<script") == 2


def test_page_shows_numbers_findings_and_marked_words() -> None:
    page = _page(sample.result())
    assert "<b>8</b><span>sites that depend on CUDA</span>" in page
    assert "4 sites still need work by hand; <code>jumar migrate</code> does the rest." in page
    assert "torch.device(&#34;<mark>cuda</mark>:0&#34;)" in page
    assert "torch.device(&#34;<mark>npu</mark>:0&#34;)" in page
    assert 'data-state="unsupported" data-rule="PT102"' in page
    assert "use <code>torch_npu.profiler</code> instead" in page
    assert "run_npu.sh" in page


def test_page_without_findings_says_so() -> None:
    page = _page(ProjectResult("p", (), Settings(), 3, 30))
    assert Parsed(page).open == []
    assert "Nothing in this project depends on CUDA." in page


def test_page_of_a_large_project_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "MAX_ROWS", 50)
    monkeypatch.setattr(changes, "MAX_FILE_ROWS", 8)
    one = sample.result()
    files = tuple(replace(one.files[1], path=f"project/f{number}.py", extra=()) for number in range(2000))
    page = _page(replace(one, files=files))
    assert "1,993 files of 2,000 appear without code and findings" in page
    assert "the first 8 of " in page
    assert len(page) < 3_000_000
    assert Parsed(page).open == []


def test_every_rule_has_a_plain_summary() -> None:
    for unit in all_rules():
        assert unit.rule.summary and not unit.rule.summary.endswith("."), unit.rule.id
        assert "\n" not in unit.rule.summary


def test_text_of_an_unchanged_file_comes_with_the_result(tmp_path: Path) -> None:
    path, text = tmp_path / "a.py", b"one\ntwo\nthree\n"
    path.write_text("another text by now\n")
    item = Finding("PT102", Level.WARNING, "look", Where(str(path), 2, 1, 2, 4), state=State.HAND)
    result = ProjectResult(str(tmp_path), (FileResult(str(path), text, text, (item,)),), Settings(), 1, 3)
    assert "<td>three</td>" in _page(result) and "another text" not in _page(result)


def test_overlapping_edits_give_no_exact_fix() -> None:
    train = sample.result().files[1]
    first = train.findings[1]
    other = replace(first, edits=(Edit(first.edits[0].start + 1, first.edits[0].end, b""),))
    assert id(first) not in replace(train, findings=(first, other)).exact_edits()


def test_unreadable_text_gives_no_exact_fix() -> None:
    assert sample.result().files[2].exact_edits() == {}
    assert sample.result().files[2].texts() == (b"\0", b"\0")


def test_csv_tells_deletions_and_findings_without_a_place() -> None:
    gone = Finding(
        "PT102", Level.NOTE, "gone", Where("p/a.py", 3, 1, 3, 9), state=State.REWRITTEN, edits=(Edit(0, 4, b""),)
    )
    nowhere = Finding("PT102", Level.ERROR, "no", None, state=State.UNSUPPORTED)
    tables = csv.render(ProjectResult("p", (FileResult("p/a.py", b"abcd", b"", (gone, nowhere)),), Settings()), RULES)
    assert tables["change_list.csv"].splitlines()[1] == "a.py,3,3,DELETE,gone"
    assert tables["unsupported_api.csv"].splitlines()[1] == "NA,NA,NA,PT102,no"


def _proof() -> Proof:
    ok = Outcome(End.OK, 1.5)
    trace = ("Traceback (most recent call last):", "  <b>line</b>", "ValueError: no kernel")
    failed = Outcome(End.FAILED, 2.0, "ValueError: no kernel for `<i>`", trace, ("shop/train.py", 12))
    package = Outcome(End.PACKAGE, package="apex")
    broken = [
        Case(f"shop.old{number}", f"shop/old{number}.py", failed, failed, Verdict.BROKEN, "ImportError: gone")
        for number in range(120)
    ]
    modules = (
        Case("shop.train", "shop/train.py", ok, failed, Verdict.WORSE, is_changed=True),
        Case("shop.data", "shop/data.py", ok, ok, Verdict.SAME, is_changed=True),
        Case("shop.fast", "shop/fast.py", package, package, Verdict.PACKAGE, is_changed=True),
        *broken,
    )
    tests = (
        Case("tests/test_shop.py::test_buy", "tests/test_shop.py", ok, ok, Verdict.SAME),
        Case("tests/test_shop.py::test_slow", "tests/test_shop.py", ok, ok, Verdict.UNKNOWN, "reached the time limit"),
    )
    missing = (Missing("apex", "", "it is made for CUDA", 1), Missing("yaml", "pyyaml", "", 2))
    return Proof(modules, tests, missing, ("files larger than 20 MB that were not copied: 1",), 65.2)


def test_page_shows_what_running_the_project_showed() -> None:
    page = migrate.of_result(sample.result(), RULES, _proof()).html()
    parsed = Parsed(page)
    assert parsed.open == [] and "proof" in parsed.ids
    assert "1 got worse; 2 of 3 changed modules could be compared, 2 tests (65 s)" in page
    assert (
        "no kernel for <code>&lt;i&gt;</code>" in page
        and "&lt;b&gt;line&lt;/b&gt;" in page
        and "shop/train.py:12" in page
    )
    assert "already broken before the migration: 120" in page and "… and 20 more" in page
    assert (
        "<code>pip install pyyaml</code>" in page
        and "it is made for CUDA" in page
        and "no sandbox held the project" in page
    )
    assert "What running it showed" not in _page(sample.result())


def test_page_of_a_good_proof_is_short() -> None:
    ok = Outcome(End.OK, 1.5)
    proof = Proof((Case("shop", "shop.py", ok, ok, Verdict.SAME, is_changed=True),), seconds=3)
    page = migrate.of_result(sample.result(), RULES, proof).html()
    assert "nothing got worse; 1 of 1 changed module could be compared (3 s)" in page
    assert 'class="panel' not in page and "To compare more" not in page
