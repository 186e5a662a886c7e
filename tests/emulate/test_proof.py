"""`jumar migrate --verify` without a command: both sides of a project on the emulator."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.app import prove
from jumar.core import held
from jumar.emulate.proof import judge, modules, sides
from jumar.emulate.proof.modules import Module
from jumar.emulate.proof.result import Case, End, Outcome, Proof, Verdict
from jumar.migrate.result import FileResult, ProjectResult
from jumar.migrate.settings import Settings
from jumar.report import proof as report

Jumar = Callable[..., Any]
OK = Outcome(End.OK)
FILES = {
    "net/__init__.py": "",
    "net/good.py": "import torch\nx = torch.ones(2)\n",
    "net/worse.py": "import torch\nx = torch.ones(2)\n",
    "net/after_worse.py": "from net.good import x\n",
    "net/broken.py": "raise ValueError('no luck')\n",
    "net/needs.py": "import cv2_is_not_here\n",
    "net/vision.py": "import cv2\n",
    "net/leaves.py": "import sys\nsys.exit(3)\n",
    "net/dies.py": "import os\nos.kill(os.getpid(), 9)\n",
    "net/dials.py": "import socket\nsocket.create_connection(('192.0.2.1', 80), 5)\n",
    "net/signals.py": "import os\nos.kill(OTHER, 15)\n",
    "net/writes.py": "open('made-by-import.txt', 'w').close()\n",
    "train.py": "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 2))\nwhile True:\n    pass\n",
    "setup.py": "raise SystemExit\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("OTHER", str(os.getpid())))
    outside = tmp_path / "outside.txt"
    (tmp_path / "project" / "net" / "reaches_out.py").write_text(f"open({str(outside)!r}, 'w').close()\n")
    return tmp_path / "project"


def _result(project: Path, **after: bytes) -> ProjectResult:
    """A migration that changes `net/NAME.py` into each text."""
    files = []
    for name, text in after.items():
        path = (project / "net" / f"{name}.py").as_posix()
        files.append(FileResult(path, Path(path).read_bytes(), text, ()))
    return ProjectResult(project.as_posix(), tuple(files), Settings())


def _ends(proof: Proof) -> dict[str, tuple[Verdict, End]]:
    return {case.name: (case.verdict, case.after.end) for case in proof.cases}


def _paths(value: Any, prefix: str = "proof") -> set[str]:
    """The fields of a document as the reference page names them."""
    if isinstance(value, dict) and not prefix.endswith(".counts"):
        return {found for key, inner in value.items() for found in _paths(inner, f"{prefix}.{key}")}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return {found for inner in value for found in _paths(inner, f"{prefix}[]")}
    return {prefix}


def test_every_module_is_judged(emulator: None, project: Path, tmp_path: Path, namespaces: None) -> None:
    before = {path: path.read_bytes() for path in project.rglob("*.py")}
    result = _result(project, good=b"import torch\nx = torch.ones(2).npu()\n", worse=b"import torch\n\nx = torch.no\n")
    proof = prove.prove(result, prove.ProveRequest(paths=(str(project),), each=20))
    said = "\n".join(report.lines(proof, show_all=True))
    assert _ends(proof) == {
        "net": (Verdict.SAME, End.OK),
        "net.good": (Verdict.SAME, End.OK),
        "net.worse": (Verdict.WORSE, End.FAILED),
        "net.after_worse": (Verdict.SAME, End.OK),
        "net.broken": (Verdict.BROKEN, End.FAILED),
        "net.needs": (Verdict.PACKAGE, End.PACKAGE),
        "net.vision": (Verdict.PACKAGE, End.PACKAGE),
        "net.leaves": (Verdict.UNKNOWN, End.EXITED),
        "net.dies": (Verdict.UNKNOWN, End.DIED),
        "net.dials": (Verdict.UNKNOWN, End.NETWORK),
        "net.signals": (Verdict.UNKNOWN, End.FAILED),
        "net.writes": (Verdict.SAME, End.OK),
        "net.reaches_out": (Verdict.UNKNOWN, End.OUTSIDE),
        "train": (Verdict.UNKNOWN, End.LATE),
    }, said
    assert proof.held.by == "namespaces"
    assert "  note: sandbox: namespaces" in said
    assert proof.verdict is Verdict.WORSE
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before
    assert not (tmp_path / "outside.txt").exists()
    assert _paths(report.fields(proof)) | {"proof.tests.counts"} == set(report.FIELDS)
    (worse,) = prove.findings(proof, result)
    assert worse.id == "EM106"
    assert worse.where is not None and (worse.where.path, worse.where.line) == (f"{project}/net/worse.py", 2)
    assert worse.message.startswith("`net.worse` could be imported before the migration and now ends with: Attribute")
    assert "proof: 1 got worse; 2 of 2 changed modules could be compared" in said
    assert "      | AttributeError: module 'torch' has no attribute 'no'" in said
    assert "  1 module stops at `cv2`, which is not installed\n" in said
    assert "    pip install opencv-python\n" in said
    assert "train.py: it starts its work when it is imported" in said
    assert "  a script is proved by running it: `--verify -- python " in said
    assert "note: not imported, as they are no modules: `setup.py`" in said


def test_without_sandbox_the_project_runs_as_its_user(emulator: None, project: Path, tmp_path: Path) -> None:
    result = _result(project, good=b"import torch\nx = torch.ones(2).npu()\n")
    named = (str(project / "net" / "good.py"), str(project / "net" / "reaches_out.py"))
    proof = prove.prove(result, prove.ProveRequest(paths=named, each=20, sandbox=False))
    assert {case.name: case.verdict for case in proof.cases} == {
        "net.good": Verdict.SAME,
        "net.reaches_out": Verdict.SAME,
    }
    assert (tmp_path / "outside.txt").exists()
    assert f"  note: {held.UNCAGED}" in "\n".join(report.lines(proof))


@pytest.mark.parametrize("text", ["while True:\n    pass\n", "import time\ntime.sleep(600)\n"])
def test_import_that_does_not_end_is_late(text: str, tmp_path: Path, namespaces: None) -> None:
    top = tmp_path / "project"
    top.mkdir()
    (top / "train.py").write_text(text)
    (top / "zeta.py").write_text("")
    side = sides.side(top, sides.Limits(each=2), os.environ, (), sandbox=True)
    found = sides.import_all(side, modules.find(top))
    assert {path: one.end for path, one in found.items()} == {"train.py": End.LATE, "zeta.py": End.OK}


@pytest.mark.slow
def test_command_line_gives_the_verdict(
    emulator: None, jumar: Jumar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "model.py").write_text(
        "import torch\nx = torch.ones(2).to('cuda' if torch.cuda.is_available() else 'cpu')\n"
    )
    (tmp_path / "net" / "test_model.py").write_text(
        "import model\ndef test_value():\n    assert model.x.sum() == 2\ndef test_place():\n    assert model.x.is_cpu\n"
    )
    done = jumar("migrate", "net", "--verify", "--json", "--limit", "30")
    assert done.code == 0, done.err
    proof = json.loads(done.out)["proof"]
    assert proof["verdict"] == "works as before" and proof["modules"]["counts"] == {"works as before": 2}
    done = jumar("migrate", "net", "--verify", "--tests", "--json", "--limit", "30")
    assert done.code == 1, done.err
    whole = json.loads(done.out)
    assert whole["proof"]["tests"]["counts"] == {"works as before": 1, "worse": 1}
    (worse,) = [item for item in whole["findings"] if item["id"] == "EM107"]
    assert worse["subject"] == "test_model.py::test_place"
    assert sorted(path.name for path in (tmp_path / "net").iterdir()) == ["model.py", "test_model.py"]


def test_project_without_its_packages_is_no_answer(
    emulator: None, jumar: Jumar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "beside.py").write_text("")
    (tmp_path / "model.py").write_text(
        "import beside\nimport not_there_at_all\nimport torch\nx = torch.ones(1).cuda()\n"
    )
    done = jumar("migrate", "model.py", "--verify", "-q")
    assert done.code == 3
    assert "proof: cannot tell; nothing got worse, but only 0 of 1 changed module could be compared" in done.err
    assert "1 module stops at `not_there_at_all`, which is not installed" in done.err


def test_a_run_ends_with_the_offer(jumar: Jumar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("import torch\nx = torch.ones(1).cuda()\n")
    assert jumar("migrate", "a.py").err.splitlines()[-1] == "Prove it: jumar migrate a.py --verify"
    assert "Prove it" not in jumar("migrate", "a.py", "-q").err
    assert "Prove it" not in jumar("migrate", "-", "--stdin-name", "a.py").err


def test_tests_need_the_proof(jumar: Jumar, tmp_path: Path) -> None:
    done = jumar("migrate", tmp_path, "--tests")
    assert done.code == 2
    assert "error: `--tests` goes with `--verify` and no command" in done.err


@pytest.mark.parametrize(
    ("text", "acts"),
    [
        ("import os\nos.environ['A'] = '1'\n", False),
        ("def main(): train()\nif __name__ == '__main__':\n    main()\n", False),
        ("REGISTRY = {}\nREGISTRY.update(a=1)\nregister_backend('x')\n", True),
        ("import logging\nlogging.basicConfig()\n", False),
        ("main()\n", True),
        ("import argparse\nargs = argparse.ArgumentParser().parse_args()\n", True),
        ("try:\n    import apex\nexcept ImportError:\n    apex = None\n", False),
        ("for x in range(3):\n    pass\n", True),
        ("if True:\n    train()\n", True),
        ("'''text'''\nx: int = 3\n", False),
        ("def broken(:\n", False),
    ],
)
def test_which_files_start_work(text: str, acts: bool, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(text)
    assert modules.find(tmp_path) == [Module("one.py", "one", "", acts)]


def test_names_of_modules_follow_their_packages(tmp_path: Path) -> None:
    for name in ("src/pkg/__init__.py", "src/pkg/a.py", "tool/b.py", "tool/not-a-name.py", "docs/conf.py", ".x/c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = [(one.name, one.root) for one in modules.find(tmp_path)]
    assert found == [("pkg", "src"), ("pkg.a", "src"), ("b", "tool")]
    assert modules.left_out(tmp_path) == ["docs/conf.py", "tool/not-a-name.py"]


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (OK, OK, Verdict.SAME),
        (OK, Outcome(End.FAILED), Verdict.WORSE),
        (OK, Outcome(End.PACKAGE, package="apex"), Verdict.WORSE),
        (Outcome(End.OK, 1), Outcome(End.LATE, 60), Verdict.WORSE),
        (Outcome(End.OK, 30), Outcome(End.LATE, 60), Verdict.UNKNOWN),
        (OK, Outcome(End.NETWORK), Verdict.UNKNOWN),
        (OK, Outcome(End.NOT_RUN), Verdict.UNKNOWN),
        (Outcome(End.FAILED), OK, Verdict.BETTER),
        (Outcome(End.FAILED), Outcome(End.FAILED), Verdict.BROKEN),
        (Outcome(End.PACKAGE, package="apex"), Outcome(End.FAILED), Verdict.PACKAGE),
        (Outcome(End.LATE), Outcome(End.LATE), Verdict.UNKNOWN),
        (Outcome(End.MEMORY), Outcome(End.MEMORY), Verdict.UNKNOWN),
    ],
)
def test_verdict_of_two_ends(before: Outcome, after: Outcome, verdict: Verdict) -> None:
    unit = Module("a.py", "a", "", acts=False)
    assert judge.module(unit, before, after, is_changed=True).verdict is verdict


@pytest.mark.parametrize(
    ("before", "after", "verdict", "reason"),
    [
        (End.SKIPPED, End.SKIPPED, Verdict.UNKNOWN, "skipped on both sides"),
        (End.SKIPPED, End.OK, Verdict.BETTER, ""),
        (End.SKIPPED, End.FAILED, Verdict.UNKNOWN, "skipped before; on the card it fails"),
        (End.OK, End.SKIPPED, Verdict.UNKNOWN, "it no longer runs: skipped now"),
        (End.OK, None, Verdict.UNKNOWN, "not run: not collected"),
    ],
)
def test_verdict_of_a_skipped_test(before: End, after: End | None, verdict: Verdict, reason: str) -> None:
    case = judge.test("t.py::test_a", Outcome(before), Outcome(after) if after else None, {"t.py"}.__contains__)
    assert (case.verdict, case.reason, case.is_changed) == (verdict, reason, True)


def test_unknown_changed_module_leaves_the_whole_open() -> None:
    same = Case("a", "a.py", OK, OK, Verdict.SAME, is_changed=True)
    needs = Case("b", "b.py", Outcome(End.PACKAGE), Outcome(End.PACKAGE), Verdict.PACKAGE, is_changed=True)
    other = Case("c", "c.py", Outcome(End.PACKAGE), Outcome(End.PACKAGE), Verdict.PACKAGE)
    assert Proof((same, other)).verdict is Verdict.SAME
    assert Proof((same, needs)).verdict is Verdict.UNKNOWN
    assert Proof((same, Case("d", "d.py", OK, Outcome(End.NOT_RUN), Verdict.UNKNOWN))).verdict is Verdict.UNKNOWN
