"""What people see first: examples in each help, whole lines, what fits a folder, completion, pages on a terminal."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from jumar.app import completion, here
from jumar.cli import cmd_completion, progress, reader, tasks, values
from jumar.cli import main as cli
from jumar.core.errors import UserError
from jumar.core.words import counted
from jumar.runtime import npus

Run = Callable[..., Any]
CONTEXT = click.Context(cli.jumar, info_name="jumar")


def _commands() -> list[tuple[str, click.Command]]:
    found = []
    for verb in cli.VERBS:
        command = cli.jumar.get_command(CONTEXT, verb)
        assert command is not None
        found.append((f"jumar {verb}", command))
        if isinstance(command, click.Group):
            below = [(name, command.get_command(CONTEXT, name)) for name in command.list_commands(CONTEXT)]
            found += [(f"jumar {verb} {name}", sub) for name, sub in below if sub is not None]
    return found


def test_no_help_has_long_or_cut_lines() -> None:
    for path, command in _commands():
        shown = command.get_help(click.Context(command, info_name=path, terminal_width=80))
        listed = shown.partition("\nExamples:")[0]
        assert "..." not in listed.partition("Commands:")[2], path
        assert max(map(len, listed.splitlines())) <= 80, path


def test_every_verb_has_examples_that_it_takes() -> None:
    assert set(tasks.EXAMPLES) == set(cli.VERBS)
    for verb, lines in tasks.EXAMPLES.items():
        assert f"  {lines[0]}" in _help(verb)
        for line in lines:
            _check(line)


def _help(verb: str) -> str:
    command = cli.jumar.get_command(CONTEXT, verb)
    assert command is not None
    return command.get_help(click.Context(command, info_name=f"jumar {verb}"))


def _check(line: str) -> None:
    words = shlex.split(line.partition("$(")[2].rstrip(')"') or line.partition(" > ")[0].rpartition("| ")[2] or line)
    assert words[0] == "jumar", line
    command = cli.jumar.get_command(CONTEXT, words[1])
    assert command is not None, line
    if isinstance(command, click.Group) and len(words) > 2:
        command = command.get_command(CONTEXT, words[2]) or command
    known = {name for param in command.params for name in param.opts} | {"--help"}
    own = words[: words.index("--")] if "--" in words else words
    program = next((at for at, word in enumerate(own) if word.endswith(".py")), len(own))
    unknown = {word for word in own[2:program] if word.startswith("--")} - known
    assert not unknown, line


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"train.py": "model.cuda()"}, "jumar migrate ."),
        ({"a/b/net.py": 'x = torch.device("cuda")'}, "jumar migrate ."),
        ({"train.py": "import torch_npu"}, "jumar run SCRIPT"),
        ({"train.py": "import mindspore"}, "jumar run SCRIPT"),
        ({"train.log": "Traceback (most recent call last):"}, "jumar explain train.log"),
        ({"prof/host_1_ascend_pt/x": ""}, "jumar perf read prof/host_1_ascend_pt"),
        ({"m/net.onnx": ""}, "jumar export check m/net.onnx"),
    ],
)
def test_a_folder_gets_the_command_that_fits(tmp_path: Path, files: dict[str, str], command: str) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert here.fits(tmp_path)[0].command == command


def test_nothing_fits_an_ordinary_folder(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("print('hello')")
    (tmp_path / "app.log").write_text("started\n")
    (tmp_path / "tests" / "logs").mkdir(parents=True)
    (tmp_path / "tests" / "logs" / "sample.log").write_text("Traceback\n")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "torch.py").write_text("torch.cuda")
    assert here.fits(tmp_path) == []


def test_a_server_gets_the_doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npus, "devices", lambda: ["/dev/davinci0"])
    assert here.fits(tmp_path) == [here.Fit("jumar doctor", "a machine with 1 NPU: check it")]


def test_jumar_alone_says_it(jumar: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text("model.cuda()")
    monkeypatch.chdir(tmp_path)
    done = jumar()
    assert done.code == 0
    assert done.out.startswith("What fits this folder:\n\n  jumar migrate .\n      1 Python file with CUDA")


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_completion_is_installed_once(jumar: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/bin/{shell}")
    start = tmp_path / f".{shell}rc"
    start.write_text("alias ll='ls -l'\n")
    assert jumar("completion", "install").code == 0
    first = start.read_text()
    assert jumar("completion", "install", shell).code == 0
    made = completion.build(shell, cmd_completion._script(shell), {"HOME": str(tmp_path)})
    assert made.script.read_text() == made.text
    assert cli.COMPLETION in made.text
    assert first == start.read_text() == "alias ll='ls -l'\n" + (f"{made.line}\n" if made.start else "")


def test_completion_of_another_shell_is_refused() -> None:
    with pytest.raises(UserError, match="no completion for the shell `csh`"):
        completion.shell_of({"SHELL": "/bin/csh"})


def test_the_tab_key_offers_chips_rules_and_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    param = click.Option(["--x"])
    assert "910B3" in values.chips(CONTEXT, param, "910b")
    assert values.rules(CONTEXT, param, "PT101") == ["PT101"]
    assert values.rules(CONTEXT, param, "cuda-device-s") == ["cuda-device-string"]
    assert values.explained(CONTEXT, param, "50701")[0].value == "507010"
    assert values.explained(CONTEXT, param, "tra")[-1].type == "file"


def test_the_tab_key_offers_jobs_of_this_machine_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    context = click.Context(cli.jumar)
    context.params["target"] = "huaweicloud"
    assert values.jobs(context, click.Option(["--x"]), "") == []


def test_pages_are_rendered_for_people(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shown: list[str] = []
    monkeypatch.setattr(click, "echo_via_pager", lambda text, color: shown.append(text))
    monkeypatch.setenv("LINES", "10")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LESS", "-R")
    reader.markdown("# PT101 name\n\nA `word`.\n")
    short = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    assert "PT101 name" in short and "`" not in short and not shown
    reader.markdown("\n\n".join(["a line"] * 20))
    assert len(shown) == 1 and capsys.readouterr().out == ""


def test_nouns_have_their_right_form() -> None:
    forms = [counted(number, "process", "processes") for number in (0, 1, 2)]
    assert forms == ["0 processes", "1 process", "2 processes"]
    assert counted(1200, "file") == "1,200 files"


def test_who_waits_sees_what_is_done(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    shown = progress.Waiting("reading the log")
    with shown:
        shown._start()
        assert shown.status is not None
    assert shown.status is None and "reading the log" in capsys.readouterr().err
    with progress.Waiting("nothing", quiet=True) as silent:
        assert silent.timer is None
    with shown.lock:
        assert shown.over
    shown.status = None
    shown._start()
    assert shown.status is None
