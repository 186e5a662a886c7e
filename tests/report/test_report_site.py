"""`jumar report`: runs are known by what they say of themselves, broken files are named, the site is whole."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_parser import Parsed

from jumar.app import report, report_sources
from jumar.app.report import ReportRequest, ReportResult
from jumar.core.errors import UserError
from jumar.perf.roofline import Tensor, card
from jumar.perf.simulate import Call, simulate
from jumar.perf.trace_events import Run
from jumar.perf.write import write
from jumar.report import pages
from jumar.report.page import Step

RUNS = Path(__file__).parent / "runs"
Jumar = Callable[..., Any]


def _join(folder: Path, out: Path | None = None) -> ReportResult:
    return report.report(ReportRequest(folder=folder, out=out or folder / "site"))


def _record(folder: Path, device: str, code: int = 0) -> None:
    (folder / "rank0").mkdir(parents=True)
    meta = {"format": 1, "jumar": "0.1.0", "device": device, "dtype": "float32", "torch": "2.6.0", "steps": 6,
            "recorded": 1, "exit_code": code, "command": ["train.py"]}  # fmt: skip
    (folder / "rank0" / "meta.json").write_text(json.dumps(meta))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(RUNS, tmp_path / "project" / "runs")
    return tmp_path / "project"


def test_everything_that_ran_is_joined(project: Path) -> None:
    result = _join(project)
    assert result.left == () and len(result.runs) == len(list(RUNS.glob("*.json")))
    document = result.to_json()
    assert document["kind"] == "report" and document["verdict"]["tone"] == "bad"
    assert [row["stage"] for row in document["stages"]] == [
        "code", "machine", "runs", "numbers", "speed", "scale", "inference"
    ]  # fmt: skip
    assert {row["stage"]: row["tone"] for row in document["stages"]}["numbers"] == "bad"
    commands = [step["command"] for step in document["next"]]
    assert commands.index("jumar migrate shapes --write") < commands.index("pytest --npu --last-failed")
    assert "jumar compare cpu.rec tanh.rec --reproducer reproduce.py" in commands
    assert len(commands) - commands.count("") == len(set(commands) - {""})


def test_the_site_is_whole_and_its_links_lead_somewhere(project: Path) -> None:
    result = _join(project)
    written = report.write(result)
    assert {path.name for path in written} == {"site.json", *(path.name for path in (project / "site").glob("*.html"))}
    index = (project / "site" / "index.html").read_text(encoding="utf-8")
    for words in ("What to do next", "What differs", "What is slow", "What ran", "Same numbers"):
        assert words in index
    for path in (project / "site").glob("*.html"):
        parsed = Parsed(path.read_text(encoding="utf-8"))
        assert parsed.open == [] and parsed.loads == []
        for link in parsed.links:
            assert link[1:] in parsed.ids if link.startswith("#") else (path.parent / link).is_file(), link
        assert path.name == "index.html" or "index.html" in parsed.links


def test_a_stage_that_is_missing_comes_with_its_command(tmp_path: Path) -> None:
    shutil.copy(RUNS / "analyze.json", tmp_path)
    document = _join(tmp_path).to_json()
    assert document["verdict"] == {"tone": "warn", "text": "1 of 4 stages were run; nothing failed"}
    out = f"{tmp_path}/"
    commands = [step["command"].split("\n")[-1] for step in document["next"]]
    assert commands == [
        "jumar migrate shapes --write",
        f"jumar migrate shapes --verify --json > {out}migrate.json",
        f"jumar compare {out}cpu.rec {out}npu.rec --html {out}compare.html",
        f"jumar perf lint --html {out}perf.html -- python train.py",
    ]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("cut.json", '{"version": 1, "tool": {"name": "jumar", "version": "0.1', "it is damaged"),
        ("old.json", '{"version": 1, "tool": {"name": "jumar"}}', "it does not say what it is"),
        ("odd.json", '{"version": 1, "tool": {"name": "jumar"}, "kind": "coffee"}', "`coffee`, which has no page"),
        ("new.json", '{"version": 99, "tool": {"name": "jumar"}, "kind": "doctor"}', "version 99"),
        ("bare.json", '{"version": 1, "tool": {"name": "jumar"}, "kind": "doctor"}', "missing or has another form"),
        ("failed.json", '{"version": 1, "tool": {"name": "jumar"}, "errors": [{"message": "no card"}]}', "no card"),
        ("bytes.json", b'{"tool": {"name": "jumar"}, "x": "\xff"}', "it is not UTF-8"),
        ("deep.json", '{"tool": {"name": "jumar"}, "x": ' + "[" * 100_000, "it is damaged"),
        ("old.html", '<meta name="generator" content="jumar 0.1.0"><p>', "older Jumar"),
        ("cut.html", '<meta name="generator" content="jumar 0.1.0"><script id="jumar-page">{"a"', "cut off"),
        ("odd.html", '<meta name="generator" content="jumar 0.1.0"><script id="jumar-page">{}</script>', "missing"),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value[:12] else "",
)
def test_broken_and_unknown_files_are_named(
    tmp_path: Path, jumar: Jumar, name: str, content: str | bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    done = jumar("report", tmp_path, "-o", tmp_path / "site")
    assert done.code == 0 and "Traceback" not in done.err
    assert f"left out: `{name}`: " in done.out and said in done.out
    assert f"<code>{name}</code>" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")


def test_files_of_others_are_not_ours(tmp_path: Path, jumar: Jumar) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    (tmp_path / "list.json").write_text('["jumar"]')
    (tmp_path / "other.json").write_text('{"by": "jumar", "tool": "jumar"}')
    (tmp_path / "page.html").write_text("<p>jumar</p>")
    done = jumar("report", tmp_path, "-o", tmp_path / "site")
    assert done.code == 2 and f"error: no run of Jumar left anything in `{tmp_path}`" in done.err
    assert "hint: keep what a run says first" in done.err and not (tmp_path / "site").exists()
    assert jumar("report", tmp_path / "nowhere").code == 2


def _damaged(seed: int) -> tuple[str, Any]:
    """A recorded document with one field, anywhere, taken out or replaced."""
    dice = random.Random(seed)
    path = dice.choice(sorted(RUNS.glob("*.json")))
    whole = here = json.loads(path.read_text(encoding="utf-8"))
    while True:
        key = dice.choice(list(here) if isinstance(here, dict) else range(len(here)))
        if isinstance(here[key], (dict, list)) and here[key] and dice.random() < 0.8:
            here = here[key]
            continue
        here[key] = dice.choice([None, 7, -1e308, "text", [], {}, [None], {"a": [1]}])
        if dice.random() < 0.3:
            del here[key]
        return f"{path.stem}, seed {seed}: {key}", whole


@pytest.mark.parametrize(
    "seeds", [range(60), pytest.param(range(60, 3000), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_no_damage_is_a_traceback(tmp_path: Path, seeds: range) -> None:
    path = tmp_path / "run.json"
    for seed in seeds:
        name, document = _damaged(seed)
        path.write_text(json.dumps(document))
        found = report_sources.read(path)
        assert found is None or isinstance(found, (report_sources.Source, report_sources.Broken)), name
        if isinstance(found, report_sources.Source) and found.page is not None:
            assert "</html>" in found.page.html(), name


def test_a_page_and_its_document_are_one_run(tmp_path: Path, jumar: Jumar) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "a.py").write_text("import torch\nx = torch.ones(1).cuda()\n")
    os.chdir(tmp_path)
    try:
        document = jumar("analyze", "net", "--json", "--html", "out/analyze.html", "--plan", "out/plan.html").out
    finally:
        os.chdir(Path(__file__).parents[2])
    (tmp_path / "out" / "analyze.json").write_text(document)
    result = _join(tmp_path)
    assert sorted(run.source for run in result.runs) == ["out/analyze.html", "out/plan.html"]
    assert b'<a href="index.html">All runs</a>' in result.files["analyze-net.html"]


def test_records_that_were_never_compared_are_a_step(project: Path) -> None:
    for name, device in (("cpu.rec", "cpu"), ("npu.rec", "npu"), ("new.rec", "npu:0")):
        _record(project / name, device)
    _record(project / "bad.rec", "npu", code=1)
    result = _join(project)
    steps = [step for step in result.further if "never compared" in step.why]
    command = f"jumar compare {project / 'cpu.rec'} {project / 'new.rec'} --html new.html"
    assert Step("`new.rec` was recorded and never compared", command) in steps
    assert not any("npu.rec`" in step.why for step in steps)
    assert [run.card.verdict.word for run in result.runs if run.source == "bad.rec"] == ["failed"]


def test_profiles_are_read_and_broken_ones_named(tmp_path: Path) -> None:
    tensor = Tensor((64, 128), "float32")
    calls = [Call("kernel", "aten::mm", 5.0, 10.0, (tensor,), (tensor,), None, "train.py(1): step")] * 30
    write(Run(tmp_path / "prof", 0, 1_704_161_511_420_306_491, "CPU"), simulate(calls, card("Ascend910B3"), 1))
    (tmp_path / "broken" / "x_ascend_pt").mkdir(parents=True)
    result = _join(tmp_path)
    assert [(run.card.kind, run.source) for run in result.runs] == [("perf", "prof")]
    assert [one.path for one in result.left] == ["broken"]
    assert b"<rect" in result.files[result.runs[0].page]


def test_a_second_site_replaces_the_first_and_nothing_else(project: Path) -> None:
    out = project / "site"
    report.write(_join(project))
    (out / "mine.html").write_text("mine")
    (project / "runs" / "suite.json").unlink()
    again = _join(project)
    report.write(again)
    assert not (out / "suite-pytest.html").exists() and (out / "mine.html").read_text() == "mine"
    assert len(_join(project).runs) == len(again.runs), "a site is not read as runs"


def test_a_foreign_index_is_left_alone(project: Path) -> None:
    (project / "site").mkdir()
    (project / "site" / "index.html").write_text("<p>my site")
    with pytest.raises(UserError, match="is not an index of Jumar"):
        report.write(_join(project))
    assert (project / "site" / "index.html").read_text() == "<p>my site"


def test_names_of_pages_stay_inside_the_site(tmp_path: Path) -> None:
    document = json.loads((RUNS / "doctor.json").read_text(encoding="utf-8"))
    for number, name in enumerate(["../../evil", "../../evil", "x" * 300, "训练机"]):
        document["machine"]["name"] = name
        document["summary"]["error"] = number
        (tmp_path / f"{number}.json").write_text(json.dumps(document))
    names = set(_join(tmp_path).files)
    assert {"doctor-evil.html", "doctor-evil-2.html", "doctor.html", "index.html"} <= names
    assert all("/" not in name and len(name) < 80 for name in names)


def test_newest_run_counts(tmp_path: Path) -> None:
    document = json.loads((RUNS / "doctor.json").read_text(encoding="utf-8"))
    for name, errors, when in (("old", 2, 1_000_000), ("new", 0, 2_000_000)):
        document["summary"]["error"] = errors
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
        os.utime(tmp_path / f"{name}.json", (when, when))
    found = _join(tmp_path).to_json()
    assert len(found["runs"]) == 2
    assert next(row for row in found["stages"] if row["stage"] == "machine") == {
        "stage": "machine", "runs": ["new.json"], "tone": "good"
    }  # fmt: skip


def test_every_kind_is_documented() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "report.md").read_text(encoding="utf-8")
    assert [kind for kind in pages.kinds() if f"`{kind}`" not in guide] == []
