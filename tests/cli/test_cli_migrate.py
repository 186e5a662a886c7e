"""`jumar migrate` and `jumar analyze` as users call them."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
CUDA = b'import torch\n\nx = torch.zeros(3, device="cuda")\n'
NPU = b'import torch\nimport torch_npu\n\nx = torch.zeros(3, device="npu")\n'
LEFT = b"import torch\n\ntorch.cuda.cudart()\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project; the current folder is the one around it."""
    top = tmp_path / "project"
    (top / "sub").mkdir(parents=True)
    (top / "train.py").write_bytes(CUDA)
    (top / "sub" / "plain.py").write_bytes(b"x = 1\n")
    (top / "picture.png").write_bytes(b"\x89PNG\0")
    monkeypatch.chdir(tmp_path)
    return top


def _stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_default_prints_a_diff_and_writes_nothing(jumar: Run, project: Path) -> None:
    done = jumar("migrate", "project")
    assert done.code == 1
    assert done.out == (
        "--- a/project/train.py\n+++ b/project/train.py\n@@ -1,3 +1,4 @@\n import torch\n+import torch_npu\n \n"
        '-x = torch.zeros(3, device="cuda")\n+x = torch.zeros(3, device="npu")\n'
    )
    assert "1 would change" in done.err and "rewritten" in done.err
    assert (project / "train.py").read_bytes() == CUDA


def test_findings_that_are_left_stand_beside_the_diff(jumar: Run, project: Path) -> None:
    (project / "train.py").write_bytes(CUDA + b"torch.cuda.cudart()\n")
    done = jumar("migrate", "project", "-q")
    assert done.err == ""
    assert "project/train.py:4:1: PT102 error `torch.cuda.cudart` has no counterpart" in done.out


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs the `patch` command")
def test_the_printed_diff_can_be_applied(jumar: Run, project: Path) -> None:
    (project / "sub" / "b.py").write_bytes(CUDA.replace(b"\n", b"\r\n") + LEFT)
    done = jumar("migrate", "project")
    subprocess.run(["patch", "-p1", "-s", "--binary"], input=done.out.encode(), check=True)
    assert (project / "train.py").read_bytes() == NPU
    assert b'device="npu")\r\n' in (project / "sub" / "b.py").read_bytes()


def test_nothing_to_do(jumar: Run, project: Path) -> None:
    done = jumar("migrate", "project/sub")
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("1 file read, 0 would change (1 line,")


def test_write_edits_in_place_and_a_second_run_finds_nothing(jumar: Run, project: Path) -> None:
    done = jumar("migrate", "project", "--write")
    assert done.code == 0
    assert (project / "train.py").read_bytes() == NPU
    assert done.err.endswith("written in place: 1 file\n")
    assert jumar("migrate", "project", "--check").code == 0


def test_write_says_what_is_left(jumar: Run, project: Path) -> None:
    (project / "train.py").write_bytes(LEFT)
    done = jumar("migrate", "project", "--write")
    assert done.code == 1
    assert done.out.startswith("project/train.py:3:1: PT102 error")


def test_check_lists_what_would_change_without_a_diff(jumar: Run, project: Path) -> None:
    done = jumar("migrate", "project", "--check")
    assert done.code == 1
    assert "PT101 note" in done.out and "---" not in done.out
    assert "--- a/project/train.py" in jumar("migrate", "project", "--check", "--diff").out


def test_benign_findings_are_counted_and_shown_on_request(jumar: Run, project: Path) -> None:
    (project / "train.py").write_bytes(CUDA.replace(b'"cuda")', b'"cuda")  # jumar: keep'))
    done = jumar("migrate", "project")
    assert (done.code, done.out) == (0, "")
    assert "  benign             1  (`--all` shows them)\n" in done.err
    assert "kept: `jumar: keep`" in jumar("migrate", "project", "--all").out


def test_stdin_to_diff_or_text(jumar: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _stdin(monkeypatch, CUDA)
    done = jumar("migrate", "-")
    assert done.code == 1
    assert done.out.startswith("--- a/stdin.py\n")
    _stdin(monkeypatch, CUDA)
    done = jumar("migrate", "-", "--write", "-q")
    assert (done.code, done.out, done.err) == (0, NPU.decode(), "")


def test_stdin_of_an_unknown_kind(jumar: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _stdin(monkeypatch, b"x")
    done = jumar("migrate", "-", "--stdin-name", "a.xyz")
    assert done.err == "error: no language known for `a.xyz`\n\nhint: give a name such as `--stdin-name train.sh`\n"


def test_json_document(jumar: Run, project: Path) -> None:
    done = jumar("migrate", "project", "--json")
    assert (done.code, done.err) == (1, "")
    document = json.loads(done.out)
    assert document["summary"]["states"]["rewritten"] == 2
    assert document["files"][0]["path"] == "project/train.py"
    assert document["files"][0]["diff"].startswith("--- a/project/train.py\n")
    assert "diff" not in json.loads(jumar("analyze", "project", "--json").out)["files"][0]


def test_report_files(jumar: Run, project: Path, tmp_path: Path) -> None:
    done = jumar("analyze", "project", "--sarif", "r/a.sarif", "--html", "r/a.html", "--csv", "r/csv")
    assert done.code == 1
    assert json.loads((tmp_path / "r/a.sarif").read_text())["version"] == "2.1.0"
    assert (tmp_path / "r/a.html").read_text().startswith("<!DOCTYPE html>")
    names = sorted(path.name for path in (tmp_path / "r/csv").iterdir())
    assert names == ["change_list.csv", "cuda_op_list.csv", "unknown_api.csv", "unsupported_api.csv"]
    assert "wrote `r/a.html`\n" in done.err
    assert (project / "train.py").read_bytes() == CUDA


def test_report_file_in_an_impossible_place(jumar: Run, project: Path) -> None:
    done = jumar("analyze", "project", "--html", "project/train.py/a.html")
    assert done.code == 2
    assert done.err.startswith("error: cannot make the folder `project/train.py`: ")


def test_analyze_lists_every_finding(jumar: Run, project: Path) -> None:
    done = jumar("analyze", "project")
    assert done.code == 1
    assert [line.split()[1] for line in done.out.splitlines()] == ["PT100", "PT101"]
    assert jumar("analyze", "project/sub").code == 0


def test_list_of_rules(jumar: Run) -> None:
    done = jumar("migrate", "--list")
    assert done.code == 0
    assert any(line.startswith("PT101  cuda-device-string") for line in done.out.splitlines())
    rules = json.loads(jumar("analyze", "--list", "--json").out)["rules"]
    assert {"id", "name", "safety", "summary"} == set(rules[0])


def test_only_and_skip(jumar: Run, project: Path) -> None:
    assert "PT101" not in jumar("analyze", "project", "--skip", "PT101").out
    assert "PT101" in jumar("analyze", "project", "--only", "cuda-device-string").out
    done = jumar("migrate", "project", "--only", "cuda-device-sting,PT102")
    assert done.err == (
        "error: `--only`: no such rule: `cuda-device-sting`\n\nhint: did you mean `cuda-device-string`?\n"
    )


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        ((), "nothing to migrate: no path given", "`jumar migrate .` migrates the current folder"),
        (("projct",), "no such file or folder: `projct`", "did you mean `project`?"),
        (("zzzzz",), "no such file or folder: `zzzzz`", "check the spelling; `-` reads from stdin"),
        (("a/b/c",), "no such file or folder: `a/b/c`", "check the spelling; `-` reads from stdin"),
        (("-", "project"), "`-` excludes other paths", "pipe one file, or name files and folders"),
        (("-", "-o", "x"), "`-` excludes `--out`", "`jumar migrate - --write` prints the new text"),
        (("project", "-o", "x", "--write"), "`--write` and `--out` cannot go together", "choose one of them"),
        (("project", "--to", "agnostc"), "`--to`: no such style: `agnostc`", "did you mean `agnostic`?"),
        (("project", "--torch", "2.99"), "`--torch`: no torch_npu release for torch `2.99`", "did you mean"),
        (("project", "--chip", "910b33"), "`--chip`: no such chip: `910b33`", "did you mean `910B3`?"),
    ],
)
def test_mistakes(jumar: Run, project: Path, args: tuple[str, ...], message: str, hint: str) -> None:
    done = jumar("migrate", *args)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {message}\n\nhint: {hint}")


def test_text_on_stdout_stands_alone(jumar: Run) -> None:
    assert "prints the new text and nothing else" in jumar("migrate", "-", "--write", "--json").out


def test_unreadable_path(jumar: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jumar.app.migrate.os.access", lambda path, mode: False)
    hint = "hint: use an account that may, or name another place\n"
    assert jumar("migrate", "project").err == f"error: cannot read `project`: no permission\n\n{hint}"


def test_colour_only_on_a_terminal_that_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from jumar.cli import show

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert show.has_colour()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not show.has_colour()


def test_progress_appears_only_on_a_terminal_and_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    from jumar.cli import progress

    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    with progress.Progress() as bar:
        bar(1, 10)
        assert bar.bar is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress.Progress() as bar:
        bar(1, 10)
        assert bar.bar is None
        bar.started -= progress.DELAY
        bar(2, 10)
        assert bar.bar is not None
        bar(3, 10)
        assert bar.bar.tasks[0].completed == 3


def test_out_writes_a_copy(jumar: Run, project: Path, tmp_path: Path) -> None:
    (project / "link.py").symlink_to("train.py")
    done = jumar("migrate", "project", "-o", "copy", "--diff")
    assert done.code == 0
    assert done.out.startswith("--- a/project/train.py\n")
    assert done.err.endswith("written to `copy`\nProve it: jumar migrate project --verify\n")
    assert (tmp_path / "copy/train.py").read_bytes() == NPU
    assert (tmp_path / "copy/picture.png").read_bytes() == b"\x89PNG\0"
    assert (tmp_path / "copy/link.py").is_symlink()
    again = jumar("migrate", "project", "-o", "copy")
    assert (again.code, again.out) == (2, "")
    assert again.err == (
        "error: `copy` is not empty\n\nhint: name a new folder, or use `--force` to overwrite existing files\n"
    )
    assert jumar("migrate", "project", "-o", "project/copy").err.startswith("error: `project/copy` is inside `project`")


def test_what_cannot_be_copied_is_said(jumar: Run, project: Path) -> None:
    os.mkfifo(project / "pipe")
    done = jumar("migrate", "project", "-o", "copy")
    assert "warning: not copied: `project/pipe`\n" in done.err


def test_new_files_are_part_of_the_diff(jumar: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from jumar.migrate import project as walk
    from jumar.migrate.result import FileResult, ProjectResult
    from jumar.migrate.settings import Settings

    file = FileResult("project/train.py", CUDA, CUDA, (), (("helper.py", b"x = 1\n"),))
    monkeypatch.setattr(walk, "migrate", lambda *args, **more: ProjectResult("project", (file,), Settings(), 1, 3))
    done = jumar("migrate", "project")
    assert done.out == "--- /dev/null\n+++ b/project/helper.py\n@@ -0,0 +1 @@\n+x = 1\n"
    assert "1 new file: `project/helper.py`\n" in done.err


def test_links_in_a_circle_and_pipes_do_not_end_a_run(jumar: Run, tmp_path: Path) -> None:
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "package").symlink_to("package")
    (tmp_path / "here").symlink_to(".")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "train.py").write_text('import torch\nx = torch.zeros(1, device="cuda")\n')
    done = jumar("analyze", tmp_path)
    assert done.code == 1
    assert "PT101" in done.out
    assert "loop.py: PT002 warning this file was skipped: its symbolic links lead in a circle" in done.out
    named = jumar("analyze", tmp_path / "pipe.py")
    assert (named.code, named.err.splitlines()[0]) == (2, f"error: `{tmp_path}/pipe.py` is a named pipe, not a file")


def test_our_own_settings_are_no_finding(jumar: Run, tmp_path: Path) -> None:
    (tmp_path / "jumar.toml").write_text('[cloud]\nengine = "pytorch-cuda"\ndevice = "cuda:0"\n')
    for place in (tmp_path, tmp_path / "jumar.toml"):
        done = jumar("analyze", "--all", place)
        assert (done.code, done.out) == (0, "")


@pytest.mark.parametrize("words", [("PT001",), ("pt00*",), ("PT9*,PT001",), ("PT9*", "PT00?")])
def test_skip_leaves_out_files_that_cannot_be_read(jumar: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "old.py").write_text('print "cuda"\n')
    assert "PT001" in jumar("analyze", tmp_path).out
    skipped = jumar("analyze", tmp_path, *(part for word in words for part in ("--skip", word)))
    assert (skipped.code, skipped.out) == (0, "")


def test_a_pattern_that_means_no_rule_is_a_mistake(jumar: Run, tmp_path: Path) -> None:
    assert jumar("analyze", tmp_path, "--skip", "ZZ*").err.startswith("error: `--skip`: no such rule: `ZZ*`\n\nhint: ")


def test_multi_card_stands_alone_or_takes_a_style(jumar: Run, project: Path) -> None:
    for words, sharded in ((["--multi-card"], False), (["--multi-card", "ddp"], False), (["--multi-card=fsdp"], True)):
        done = jumar("migrate", *words, "project", "--json")
        chosen = json.loads(done.out)["settings"]
        assert (chosen["multi_card"], chosen["sharded"]) == (True, sharded)
    assert json.loads(jumar("migrate", "project", "--json").out)["settings"]["multi_card"] is False
