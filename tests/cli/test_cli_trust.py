"""`jumar trust`, as it is typed; what an unknown project can do, and what it cannot."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Jumar = Callable[..., Any]
RULE = """
import pathlib
pathlib.Path({mark!r}).write_text("ran")
from jumar.core.finding import State
from jumar.migrate.rule import Rule
RULE = Rule("XX905", "ours", "ours", ("ourlib",), roots=("ourlib",))
def visit_name(node, name, file):
    yield file.report(RULE, node, State.HAND, "found by the project's own rule", "x")
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose file asks for everything."""
    folder = tmp_path / "a project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("import ourlib\nimport torch\nourlib.go(torch.zeros(3).cuda())\n")
    (folder / "rule.py").write_text(RULE.format(mark=str(tmp_path / "ran")))
    (folder / "jumar.toml").write_text(
        '[migrate]\nrules = ["rule.py"]\nskip = ["PT105"]\n\n[cloud]\npython = "bin/python"\ndata = "../.."\n'
    )
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize("verb", ["analyze", "migrate"])
def test_an_unknown_projects_rules_do_not_run_and_one_line_says_so(
    jumar: Jumar, project: Path, tmp_path: Path, verb: str
) -> None:
    done = jumar(verb, project / "src", "--no-cache")
    told = [line for line in done.err.splitlines() if "jumar.toml`: ignored" in line]
    assert len(told) == 1
    assert told[0] == (
        f"jumar: `{project / 'jumar.toml'}`: ignored in `[migrate]`: `rules`: that needs your trust:"
        f" `jumar trust '{project}'`"
    )
    assert not (tmp_path / "ran").exists()
    assert "XX905" not in done.out
    document = json.loads(jumar(verb, project / "src", "--json").out)
    assert document["notes"] == [told[0].removeprefix("jumar: ")]
    assert document["settings"]["from_project"] == ["skip"]


def test_the_command_works_as_it_is_printed(jumar: Jumar, project: Path, tmp_path: Path) -> None:
    said = jumar("analyze", project / "src").err
    command = said[said.index("`jumar trust") + 1 :].split("`")[0]
    shown = jumar(*shlex.split(command)[1:])
    assert shown.code == 0
    assert shown.out.splitlines() == [
        f"`{project / 'jumar.toml'}` asks for:",
        '  [migrate] rules = ["rule.py"]',
        '  [cloud] python = "bin/python"',
        '  [cloud] data = "../.."',
        *[line for line in shown.out.splitlines() if line.startswith("  code that runs inside Jumar: ")],
    ]
    assert f"code that runs inside Jumar: {project / 'rule.py'} (sha256 " in shown.out
    assert shown.err == f"trusted: `{project}`\n"
    done = jumar("analyze", project / "src")
    assert "XX905" in done.out and "found by the project's own rule" in done.out
    assert "ignored" not in done.err
    assert (tmp_path / "ran").exists()


def test_print_records_nothing_and_remove_forgets(jumar: Jumar, project: Path) -> None:
    assert '[migrate] rules = ["rule.py"]' in jumar("trust", project, "--print").out
    assert jumar("trust", "--list").out == ""
    assert json.loads(jumar("trust", project / "src", "--json").out)["recorded"] is True
    rows = json.loads(jumar("trust", "--list", "--json").out)["rows"]
    assert [(row["what"], row["name"], row["state"]) for row in rows] == [("folder", str(project), "trusted")]
    (project / "rule.py").write_text("changed = 1\n")
    assert jumar("trust", "--list").out.split()[:2] == ["folder", "changed"]
    said = jumar("analyze", project / "src").err
    assert "the files have changed since you trusted them: `jumar trust '" in said
    assert jumar("trust", "--remove", project / "src").out == f"no longer trusted: `{project}`\n"
    assert jumar("trust", "--list").out == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("missing",), "no such folder: `missing`"),
        (("--remove", "."), "is not trusted"),
        (("--list", "--remove"), "`--list` stands alone"),
        (("--host", "x", "."), "`--host` and a folder cannot go together"),
        (("--host", "a b"), "not a host: `a b`"),
        (("--host", "user@evil"), "not a host: `user@evil`"),
        (("--host", "x", "--print"), "`--print` shows what a folder asks for"),
        (("--remove", "--host", "x"), "`x` is not trusted"),
        ((".",), "no `jumar.toml` of yours at or above `.`"),
    ],
)
def test_mistakes_are_one_line(jumar: Jumar, project: Path, words: tuple[str, ...], message: str) -> None:
    done = jumar("trust", *words)
    assert done.code == 2
    assert message in done.err.splitlines()[0]


def test_a_project_that_asks_for_nothing_needs_no_trust(jumar: Jumar, tmp_path: Path) -> None:
    (tmp_path / "jumar.toml").write_text('[migrate]\nto = "agnostic"\n')
    done = jumar("trust", tmp_path)
    assert done.code == 2 and "asks for nothing that needs trust" in done.err


def test_a_rule_file_that_is_no_file_cannot_be_trusted(jumar: Jumar, project: Path) -> None:
    (project / "rule.py").unlink()
    assert "cannot read" in jumar("trust", project).err
    os.mkfifo(project / "rule.py")
    assert "it is no plain file" in jumar("trust", project).err
    assert jumar("trust", "--list").out == ""


@pytest.mark.parametrize("kind", ["fifo", "link", "device", "huge", "deep"])
def test_an_odd_settings_file_is_an_error_and_never_waited_for(project: Path, kind: str) -> None:
    path = project / "jumar.toml"
    path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind in ("link", "device"):
        path.symlink_to("/dev/zero" if kind == "device" else "rule.py")
    elif kind == "huge":
        path.write_bytes(b"#" * 10_000_000)
    else:
        path.write_text("x = " + "[\n" * 20_000)
    for verb in ("analyze", "trust"):
        words = [sys.executable, "-m", "jumar", verb, str(project)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2
        assert done.stderr.startswith("error: ") and "Traceback" not in done.stderr


def test_a_name_of_the_projects_own_rules_says_what_is_missing(jumar: Jumar, project: Path) -> None:
    (project / "jumar.toml").write_text('[migrate]\nrules = ["rule.py"]\nonly = ["ours"]\n')
    done = jumar("analyze", project / "src")
    assert done.code == 2
    assert f"hint: if it is one of the project's own rules: `jumar trust '{project}'`" in done.err
    assert jumar("trust", project).code == 0
    assert "XX905" in jumar("analyze", project / "src").out


def test_a_project_that_hides_findings_is_named_by_summary_and_page(
    jumar: Jumar, project: Path, tmp_path: Path
) -> None:
    (project / "jumar.toml").write_text('[migrate]\nonly = ["PT101"]\n')
    done = jumar("analyze", project / "src", "--html", tmp_path / "page.html")
    assert done.code == 0
    assert "set by the project's `jumar.toml`: `only`" in done.err
    page = (tmp_path / "page.html").read_text()
    assert "Nothing was found; some rules were left out." in page
    assert "Nothing in this project depends on CUDA" not in page
    over = json.loads(jumar("analyze", project / "src", "--only", "PT105", "--json").out)
    assert over["settings"]["from_project"] == []


def test_the_api_hands_the_notes_out(project: Path) -> None:
    from jumar import api

    found = api.analyze(str(project / "src"))
    assert len(found.notes) == 1 and "`rules`: that needs your trust" in found.notes[0]


def test_what_a_jobs_project_may_not_say_is_left_out(jumar: Jumar, project: Path, tmp_path: Path) -> None:
    (project / "code").mkdir()
    (project / "code" / "train.py").write_text("print('job')\n")
    (tmp_path / "secret").write_text("SECRETWORD")
    (project / "code" / "settings").symlink_to(tmp_path / "secret")
    (project / "code" / "shared.py").symlink_to("../rule.py")
    (project / "jumar.toml").write_text(
        '[cloud]\ncode = "code"\nboot = "train.py"\ndata = "../.."\nbucket = "theirs"\nprice = 0.01\nnodes = 8\n'
        'python = "./evil"\nenv = ["LD_PRELOAD=./evil.so"]\nparam = ["lr=1"]\n'
    )
    os.chdir(project)
    try:
        done = jumar("cloud", "plan", "--json")
    finally:
        os.chdir(tmp_path)
    document = json.loads(done.out)
    assert len(document["notes"]) == 1
    keys = ("data", "bucket", "price", "nodes", "python", "env")
    assert f"ignored in `[cloud]`: {', '.join(f'`{key}`' for key in keys)}: that needs" in document["notes"][0]
    row = document["rows"][0]
    assert row["cost"] is None
    assert [(one["files"], one["left_out"]) for one in row["uploads"]] == [(2, ["settings"])]
    assert "theirs" not in json.dumps(row)
