"""`--plan`, `--baseline` and `--write-baseline` of both verbs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "a.py").write_text("import torch\nx = torch.ones(1).cuda()\ny = torch.load('a.pt')\n")
    return tmp_path


@pytest.mark.parametrize("verb", ["analyze", "migrate"])
def test_plan_is_written_in_three_forms(jumar: Run, project: Path, verb: str) -> None:
    for name, start in (("p.md", "# Moving `net`"), ("p.html", "<!DOCTYPE html>"), ("p.json", "{")):
        done = jumar(verb, "net", "--plan", name)
        assert done.code == 1
        assert f"wrote `{name}`" in done.err
        assert (project / name).read_text().startswith(start)
    plan = json.loads((project / "p.json").read_text())["plan"]
    assert [group["kind"] for group in plan["groups"] if not group["made"]] == ["blocks"]
    assert plan["areas"]["product"] == 3


def test_unknown_form_of_a_plan_is_refused_before_the_work(jumar: Run, project: Path) -> None:
    done = jumar("analyze", "net", "--plan", "p.docx")
    assert done.code == 2
    assert "error: no form of a plan is known for `p.docx`" in done.err
    assert "hint: end its name in `.md`, `.html` or `.json`" in done.err


@pytest.mark.parametrize("words", [("analyze",), ("migrate", "--check")])
def test_only_new_findings_fail(jumar: Run, project: Path, words: tuple[str, ...]) -> None:
    assert jumar("analyze", "net", "--write-baseline", "known.json").code == 1
    done = jumar(*words, "net", "--baseline", "known.json")
    assert done.code == 0 and done.out == ""
    assert "baseline `known.json`: 3 known, 0 new, 0 gone\n" in done.err
    path = project / "net" / "a.py"
    path.write_text("# moved\n" + path.read_text().replace("y = torch.load('a.pt')", "z = torch.cuda.device_count()"))
    done = jumar(*words, "net", "--baseline", "known.json")
    assert done.code == 1
    assert "net/a.py:4:5: PT102" in done.out and "PT105" not in done.out
    assert "baseline `known.json`: 2 known, 1 new, 1 gone\n  gone: net/a.py: PT171\n" in done.err.replace(
        "gone: a.py", "gone: net/a.py"
    )
    assert "`--write-baseline known.json` takes them out" in done.err


def test_baseline_in_json(jumar: Run, project: Path) -> None:
    jumar("analyze", "net", "--write-baseline", "known.json")
    (project / "net" / "a.py").write_text("import torch\nx = torch.ones(1).cuda()\nz = torch.cuda.device_count()\n")
    done = jumar("analyze", "net", "--baseline", "known.json", "--json")
    whole = json.loads(done.out)
    assert whole["baseline"] == {"known": 2, "new": 1, "stale": [{"path": "a.py", "id": "PT171", "subject": None}]}
    assert [item["id"] for item in whole["findings"]] == ["PT102"]


def test_missing_baseline_is_the_users_mistake(jumar: Run, project: Path) -> None:
    done = jumar("analyze", "net", "--baseline", "no.json")
    assert done.code == 2
    assert "error: cannot read `no.json`: no such file or folder" in done.err
    assert "write it first: `jumar analyze . --write-baseline no.json`" in done.err
