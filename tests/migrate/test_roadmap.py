"""A plan from findings: causes, areas, order, effort; and the baseline that knows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jumar import api
from jumar.core.errors import UserError
from jumar.core.finding import Finding, Level, State, Where
from jumar.migrate.result import FileResult, ProjectResult
from jumar.migrate.roadmap import areas, baseline, build, effort
from jumar.migrate.roadmap.result import Area, Effort, Group, Kind, Roadmap
from jumar.migrate.rule import all_rules
from jumar.migrate.settings import Settings
from jumar.report import roadmap as report
from jumar.report.pages.roadmap import page
from jumar.tables import effort as table

SUMMARIES = {unit.rule.id: unit.rule.summary for unit in all_rules()}


def _finding(path: str, id_: str, state: State, subject: str = "", line: int = 1, fix: str | None = "do it") -> Finding:
    where = Where(path, line, 1, line, 2)
    return Finding(
        id_, Level.WARNING, f"`{subject}`: it is about CUDA", where, fix, state=state, doc="x", subject=subject
    )


def _project(*found: Finding) -> ProjectResult:
    files: dict[str, list[Finding]] = {}
    for item in found:
        assert item.where is not None
        files.setdefault(item.where.path, []).append(item)
    return ProjectResult(
        "p", tuple(FileResult(path, b"x\n" * 9, b"x\n" * 9, tuple(items)) for path, items in files.items()), Settings()
    )


def _plan(*found: Finding, texts: dict[str, bytes] | None = None) -> Roadmap:
    return build.roadmap(_project(*found), texts or {}, SUMMARIES)


def test_a_package_is_one_cause_wherever_it_is_named() -> None:
    plan = _plan(
        _finding("p/a.py", "PT200", State.UNSUPPORTED, "flash_attn.flash_attn_func"),
        _finding("p/b.py", "PT200", State.FALLBACK, "flash_attn"),
        _finding("p/requirements.txt", "RQ103", State.HAND, "flash-attn"),
        _finding("p/run.sh", "SH900", State.HAND, "flash_attn"),
    )
    (group,) = plan.groups
    assert group.cause == "the package `flash_attn` has parts that need CUDA"
    assert (group.kind, group.places, group.files) == (Kind.BLOCKS, 4, 4)
    assert group.ids == ("PT200", "RQ103", "SH900")


def test_a_build_for_one_cuda_is_the_same_package() -> None:
    plan = _plan(
        _finding("p/a.py", "PT200", State.UNSUPPORTED, "cuml.linear_model"),
        _finding("p/requirements.txt", "RQ103", State.UNSUPPORTED, "cuml-cu11"),
    )
    assert [group.cause for group in plan.groups] == ["the package `cuml` has parts that need CUDA"]


def test_made_changes_are_one_cause_for_each_rule_and_come_last() -> None:
    plan = _plan(
        _finding("p/a.py", "PT102", State.REWRITTEN, "torch.cuda.empty_cache"),
        _finding("p/a.py", "PT102", State.REWRITTEN, "torch.cuda.is_available"),
        _finding("p/a.py", "PT175", State.FALLBACK, "torch.float64"),
    )
    assert [(group.cause, group.is_made, group.places) for group in plan.groups] == [
        ("float64 on the device", False, 1),
        ("a name of torch.cuda", True, 2),
    ]
    assert plan.groups[1].todo == "review the diff of `jumar migrate`"


def test_order_is_blocks_results_unclear_speed_cosmetic() -> None:
    plan = _plan(
        _finding("p/a.py", "PT165", State.HAND, "cuda_time"),
        _finding("p/a.py", "PT175", State.FALLBACK, "torch.float64"),
        _finding("p/a.py", "PT900", State.HAND, "cuda"),
        _finding("p/a.py", "PT160", State.HAND, "torch.backends.cudnn.version"),
        _finding("p/tests/test_a.py", "PT171", State.HAND),
        _finding("p/a.py", "PT172", State.UNSUPPORTED, "torch.nn.DataParallel"),
    )
    assert [group.kind for group in plan.groups] == [Kind.BLOCKS, Kind.BLOCKS, *list(Kind)[1:]]
    assert [group.area for group in plan.groups[:2]] == [Area.PRODUCT, Area.TESTS]


def test_kernels_are_not_estimated() -> None:
    plan = _plan(
        _finding("p/csrc/a.cu", "CU101", State.UNSUPPORTED, "scale"),
        _finding("p/csrc/b.cu", "CU103", State.UNSUPPORTED, "cudaStream_t"),
        _finding("p/a.py", "PT171", State.HAND),
    )
    kernels = next(group for group in plan.groups if "CU101" in group.ids)
    assert (
        kernels.cause == "CUDA kernels and calls of CUDA libraries in `csrc`"
        and kernels.effort is None
        and kernels.places == 2
    )
    assert plan.is_open and plan.effort == effort.of("edit", 1)
    assert ", CUDA kernels on top: " in report.verdict(plan)
    assert any("counted, not estimated" in sentence for sentence in plan.unknown)
    assert "| not estimated |" in report.markdown(plan)


@pytest.mark.parametrize(
    ("path", "area"),
    [
        ("net/model.py", Area.PRODUCT),
        ("tests/test_model.py", Area.TESTS),
        ("net/model_test.py", Area.TESTS),
        ("conftest.py", Area.TESTS),
        (".github/workflows/gpu.yml", Area.CI),
        ("docker/Dockerfile", Area.CI),
        ("Dockerfile.gpu", Area.CI),
        ("examples/train.py", Area.OPTIONAL),
        ("docs/guide.ipynb", Area.OPTIONAL),
        ("contest/latest.py", Area.PRODUCT),
    ],
)
def test_area_by_path(path: str, area: Area) -> None:
    assert areas.by_path(path) is area


def test_who_imports_a_file_decides() -> None:
    found = areas.areas(
        {
            "net/__init__.py": b"from .model import Net\n",
            "net/model.py": b"import torch\nfrom tools.kernels import fast\nfrom . import layers\n",
            "net/layers.py": b"",
            "net/fixtures.py": b"",
            "tools/__init__.py": b"",
            "tools/kernels.py": b"",
            "tools/plot.py": b"from net.model import Net\n",
            "tests/test_net.py": b"from net.fixtures import data\nimport net.model\n",
        },
        ["run.sh"],
    )
    assert found["tools/kernels.py"] is Area.PRODUCT
    assert found["tools/plot.py"] is Area.OPTIONAL
    assert found["net/fixtures.py"] is Area.TESTS
    assert found["net/layers.py"] is found["net/model.py"] is found["run.sh"] is Area.PRODUCT


def test_effort_grows_with_the_places() -> None:
    one, many = effort.of("edit", 1), effort.of("edit", 100)
    assert one is not None and many is not None
    assert one.low == 0.25 and one.low < one.high < many.low * 100 and many.low < many.high
    read = effort.of("review", 100)
    assert read == Effort(1.0, 2.0)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.25, 0.5, "up to 0.5 hours"),
        (0.1, 1.2, "up to 1 hour"),
        (1, 3.1, "1–3 hours"),
        (0.5, 1, "0.5–1 hour"),
        (2, 40, "2 hours to 5 days"),
        (8.4, 40, "1–5 days"),
        (30, 230, "4–29 days"),
    ],
)
def test_a_range_in_words(low: float, high: float, said: str) -> None:
    assert report.hours(Effort(low, high)) == said


def test_calibration_says_what_it_rests_on() -> None:
    rates = table.rates()
    assert rates.ports >= 6 and rates.inside <= rates.ports
    assert 0 < rates.per_place[0] < rates.per_place[1]
    assert f"{rates.ports} public ports to Ascend" in effort.basis()
    kinds = {kind.value for kind in Kind}
    states = {state.value for state in State}
    for id_, row in table.causes().items():
        assert id_ in SUMMARIES, f"`{id_}` is no rule"
        assert row.by in ("package", "subject", "folder", "rule") and row.work in ("edit", "kernel")
        assert set(row.kinds) <= states and set(row.kinds.values()) <= kinds


def _sample() -> Roadmap:
    return _plan(
        *(_finding(f"p/net/{name}.py", "PT172", State.UNSUPPORTED, "torch.nn.DataParallel") for name in "abc"),
        _finding("p/tests/test_a.py", "PT171", State.HAND, fix="add <map_location> | now"),
        _finding("p/net/a.py", "PT101", State.REWRITTEN),
    )


def test_markdown_is_a_page() -> None:
    text = report.markdown(_sample())
    assert text.startswith("# Moving `p` to Ascend NPUs\n\n**This project can move with ")
    assert "Jumar changes 1 of 5 places by itself, 2 causes are left for people" in text
    assert "one of them stops the product until somebody deals with it.**" in text
    assert "## What comes next\n\n1. `jumar migrate --write` makes the changes" in text
    assert "| `DataParallel`: several cards from one process (PT172) | blocks | product | 3 | 3 | " in text
    assert "add \\<map_location> \\| now |" in text
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## What people have to do", "## What Jumar does", "## What is not known", "## What comes next",
        "## Where the hours come from",
    ]  # fmt: skip


def test_page_is_safe_and_whole() -> None:
    text = page(report.fields(_sample())).html()
    assert "&lt;map_location&gt;" in text and "<map_location>" not in text
    assert "http://" not in text and text.count("<script") == 2
    assert '<span class="badge c-red">blocks</span>' in text


def test_many_causes_stay_on_one_page() -> None:
    many = [_finding("p/a.py", "PT250", State.UNSUPPORTED, f"torch.f{number}") for number in range(40)]
    plan = _plan(*many, _finding("p/a.py", "PT175", State.FALLBACK, "torch.float64"))
    text = report.markdown(plan)
    assert f"| {40 - report.ROWS} more causes | blocks | | 28 | 28 |" in text
    assert "| 1 more cause | costs speed | | 1 | 1 |" in text
    assert len(text.splitlines()) < 45
    assert page(report.fields(plan)).html().count('<span class="rest">') == 2


def test_nothing_to_do() -> None:
    text = report.markdown(_plan())
    assert "Nothing in this project depends on CUDA" in text and "| cause |" not in text


def test_only_made_changes() -> None:
    plan = _plan(_finding("p/a.py", "PT101", State.REWRITTEN))
    assert report.verdict(plan).startswith("This project can move at once: Jumar changes 1 of 1 places by itself")


def test_json_fields_are_documented() -> None:
    def paths(value: Any, prefix: str) -> set[str]:
        if isinstance(value, dict) and not prefix.endswith(".areas"):
            return {found for key, inner in value.items() for found in paths(inner, f"{prefix}.{key}".lstrip("."))}
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return {found for inner in value for found in paths(inner, f"{prefix}[]")}
        return {prefix}

    assert paths(report.fields(_sample()), "") == set(report.FIELDS)


BEFORE = "import torch\n\nx = torch.ones(1).cuda()\n\n\ndef f():\n    return torch.load('a.pt')\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "a.py").write_text(BEFORE)
    return tmp_path


def _changed(project: Path, change: Callable[[str], str]) -> baseline.Checked:
    known = baseline.parse(baseline.render(api.analyze(project / "net").project), "known.json")
    path = project / "net" / "a.py"
    path.write_text(change(path.read_text()))
    return baseline.check(api.analyze(project / "net").project, known)


@pytest.mark.parametrize(
    ("change", "new", "stale"),
    [
        (lambda text: text, 0, 0),
        (lambda text: "# a line\n\n" + text, 0, 0),
        (lambda text: text.replace("x = torch", "\nif x_is_wanted:\n    x = torch"), 0, 0),
        (lambda text: text + "y = torch.ones(1).cuda()\n", 1, 0),
        (lambda text: text.replace("x = torch.ones(1).cuda()", "x = torch.ones(1)"), 0, 2),
        (lambda text: text.replace("'a.pt'", "'b.pt'"), 1, 1),
    ],
    ids=["same", "lines above", "deeper", "one more", "gone", "another line"],
)
def test_baseline_follows_the_text_not_the_line(
    project: Path, change: Callable[[str], str], new: int, stale: int
) -> None:
    checked = _changed(project, change)
    assert (len(checked.new), len(checked.stale)) == (new, stale)


def test_baseline_from_python(project: Path) -> None:
    first = api.analyze(project / "net")
    (project / "known.json").write_text(baseline.render(first.project))
    second = api.analyze(project / "net", baseline=project / "known.json")
    assert second.checked is not None and second.checked.new == () and second.checked.known == 3
    assert second.to_json()["baseline"] == {"known": 3, "new": 0, "stale": []}
    assert second.roadmap.places == 3 and first.checked is None


def test_second_place_like_a_known_one_is_new(project: Path) -> None:
    checked = _changed(project, lambda text: text + "\n\ndef g():\n    return torch.load('a.pt')\n")
    assert [item.id for item in checked.new] == ["PT171"]
    assert checked.known == 3


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"jumar_baseline": 1, "known": [[1]]}'])
def test_other_files_are_no_baselines(text: str) -> None:
    with pytest.raises(UserError, match="is not a baseline of Jumar"):
        baseline.parse(text, "x.json")


def test_newer_baselines_are_refused() -> None:
    with pytest.raises(UserError, match="of version 9"):
        baseline.parse('{"jumar_baseline": 9, "known": []}', "x.json")


def test_empty_baseline_can_be_read_back() -> None:
    assert not baseline.parse(baseline.render(ProjectResult(".", (), Settings())), "x.json")


def test_group_keeps_its_areas() -> None:
    group = _sample().groups[0]
    assert isinstance(group, Group) and group.areas == ((Area.PRODUCT, 3),)
    assert report.where(replace(group, areas=((Area.PRODUCT, 2), (Area.TESTS, 1)))) == "product (66 %)"
