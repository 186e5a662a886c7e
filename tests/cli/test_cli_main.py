"""The frame of all commands: help, errors in their two shapes, and how it ends when somebody stops it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bad_inputs
import click
import pytest

from jumar import __version__
from jumar.cli import main as cli
from jumar.core.errors import UserError

Run = Callable[..., Any]


def test_help_lists_the_verbs(jumar: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = jumar("--help")
    assert done.code == 0
    assert re.search(r"^  migrate +Show or make the changes that move CUDA code to Ascend NPUs$", done.out, re.M)
    assert jumar().out == done.out
    assert max(map(len, done.out.splitlines())) <= 80
    order = [line.split()[0] for line in done.out.splitlines() if re.match(r"  [a-z]+ +[A-Z]", line)]
    assert order == [*cli.VERBS]


def test_version(jumar: Run) -> None:
    assert jumar("--version").out == f"jumar {__version__}\n"


def test_every_verb_has_a_module_with_the_same_help() -> None:
    context = click.Context(cli.jumar)
    for verb, text in cli.VERBS.items():
        command = cli.jumar.get_command(context, verb)
        assert command is not None and command.name == verb
        assert command.short_help == text


def test_unknown_verb_gets_the_nearest_one(jumar: Run) -> None:
    done = jumar("migrat", "x")
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: no such command: `migrat`\n\nhint: did you mean `migrate`?\n"


def test_unknown_verb_that_resembles_nothing(jumar: Run) -> None:
    assert jumar("zzz").err == "error: no such command: `zzz`\n\nhint: `jumar --help` lists the commands\n"


def test_unknown_option_gets_the_nearest_one(jumar: Run) -> None:
    done = jumar("migrate", "--chek", ".")
    assert done.code == 2
    assert done.err == "error: no such option: `--chek`\n\nhint: did you mean `--check`?\n"


def test_missing_argument(jumar: Run) -> None:
    assert jumar("explain").err == "error: missing `FILE|ID...`\n\nhint: `jumar explain --help` lists the options\n"


def test_bad_value(jumar: Run) -> None:
    done = jumar("migrate", "--jobs", "0", ".")
    assert done.code == 2
    assert done.err.startswith("error: `--jobs`: 0 is not in the range x>=1\n")


def test_option_without_value(jumar: Run) -> None:
    assert jumar("migrate", ".", "--chip").err.startswith("error: option '--chip' requires an argument\n")


def test_errors_are_json_when_json_was_asked_for(jumar: Run) -> None:
    done = jumar("migrate", "--json", "--chip", "911", ".")
    assert (done.code, done.err) == (2, "")
    assert json.loads(done.out)["errors"] == [
        {"message": "`--chip`: no such chip: `911`", "hint": "did you mean `910B1`?"}
    ]


def test_unexpected_errors_show_no_traceback(jumar: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(args: list[str]) -> int:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(cli, "_run", fail)
    done = jumar("migrate")
    assert done.code == 2
    assert done.err.startswith("error: unexpected ZeroDivisionError: oh\n\nhint: run it again as `jumar --debug …`")
    with pytest.raises(ZeroDivisionError):
        jumar("--debug", "migrate")


def test_debug_shows_the_traceback_of_user_errors(jumar: Run) -> None:
    with pytest.raises(UserError):
        jumar("--debug", "migrate", "no-such-path")


@pytest.mark.parametrize("error", [KeyboardInterrupt, click.Abort])
def test_interrupt(jumar: Run, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]) -> None:
    def stop(args: list[str]) -> int:
        raise error

    monkeypatch.setattr(cli, "_run", stop)
    done = jumar("migrate")
    assert (done.code, done.err) == (130, "error: interrupted\n")


def test_closed_pipe_is_silent() -> None:
    code = "import sys; from jumar.cli.main import main; sys.exit(main(['migrate', '--help']))"
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-c", code], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


def test_characters_that_the_terminal_lacks_are_escaped() -> None:
    code = "from jumar.cli.main import main; main(['explain', '训练'])"
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=False)
    assert done.stderr.startswith(b"error: no such file, code, finding or variable: `\\u8bad\\u7ec3`")


def test_shell_completion_offers_verbs() -> None:
    environment = {**os.environ, "_JUMAR_COMPLETE": "bash_complete", "COMP_WORDS": "jumar mi", "COMP_CWORD": "1"}
    code = "from jumar.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=False)
    assert done.stdout == b"plain,migrate\n"


def test_python_m_jumar() -> None:
    done = subprocess.run([sys.executable, "-m", "jumar", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"jumar {__version__}\n"


def test_explain_prints_the_page_by_id_or_name(jumar: Run) -> None:
    by_id = jumar("explain", "pt101")
    assert by_id.code == 0
    assert by_id.out.startswith("# PT101 cuda-device-string\n")
    assert jumar("explain", "cuda-device-string").out == by_id.out
    assert json.loads(jumar("explain", "--json", "PT101").out)["name"] == "cuda-device-string"


def test_explain_knows_the_nearest_page(jumar: Run) -> None:
    done = jumar("explain", "cuda-device-strings")
    assert done.code == 2
    assert done.err.startswith("error: no such file, code, finding or variable: `cuda-device-strings`\n")
    assert done.err.endswith("hint: did you mean `cuda-device-string`?\n")


def test_explain_follows_a_renamed_id(jumar: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jumar.tables.pages.renamed", lambda: {"PT099": "PT101"})
    done = jumar("explain", "PT099")
    assert done.out.startswith("# PT101 ")
    assert done.err == "`PT099` is now `PT101`\n"


@pytest.mark.parametrize(
    ("verb", "module", "package", "extra"),
    [
        ("compare", "numpy", "numpy", "emulator"),
        ("export", "numpy.linalg", "numpy", "export"),
        ("export", "onnx", "onnx", "export"),
        ("perf", "orjson", "orjson", "perf"),
        ("cloud", "obs", "esdk-obs-python", "cloud"),
        ("cloud", "botocore.config", "boto3", "cloud"),
        ("run", "torch_npu", "torch_npu", "emulator"),
    ],
)
def test_a_missing_package_names_its_extra(
    jumar: Run, monkeypatch: pytest.MonkeyPatch, verb: str, module: str, package: str, extra: str
) -> None:
    def fail(args: list[str]) -> int:
        raise ModuleNotFoundError(f"No module named '{module}'", name=module)

    monkeypatch.setattr(cli, "_run", fail)
    done = jumar(verb, "x")
    assert done.code == 2
    assert done.err == (
        f"error: `{package}` is not installed in this environment\n\nhint: pip install 'jumar[{extra}]'\n"
    )


def test_a_module_of_nobody_is_unexpected(jumar: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(args: list[str]) -> int:
        raise ModuleNotFoundError("No module named 'zzz'", name="zzz")

    monkeypatch.setattr(cli, "_run", fail)
    assert jumar("migrate").err.startswith("error: unexpected ModuleNotFoundError: ")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [("migrate", "--help"), ("migrate", "--list", "--json")])
def test_a_full_disk_behind_the_output_is_an_error(words: tuple[str, ...], unbuffered: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "jumar", *words], stdout=full, stderr=subprocess.PIPE, env=environment, check=False
        )
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: cannot write: no space is left\n\nhint: free some space")


@pytest.mark.parametrize("words", ["migrate -", "analyze -", "explain -", "ranktable check -"])
def test_a_closed_stdin_is_no_empty_text(words: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m jumar {words} <&-', sys.executable], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "error: standard input is closed" in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_no_harm(closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m jumar migrate --list {closed}', sys.executable], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$0" -m jumar launch --print train.py',
         sys.executable],
        capture_output=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        2, b"error: the current folder no longer exists\n\nhint: change to one that exists, such as `cd ~`\n"
    )  # fmt: skip


@pytest.mark.parametrize("option", ["--chip", "--soc"])
@pytest.mark.parametrize("name", ["910B3", "Ascend910B3", "910b3", "ascend910b3"])
def test_chip_and_soc_are_one_word(option: str, name: str) -> None:
    commands = dict(bad_inputs.commands())
    taking = [command for command in commands.values() if {"--chip", "--soc"} & _options(command)]
    assert len(taking) > 10
    for command in taking:
        param = next(param for param in command.params if "--chip" in param.opts)
        assert option in param.opts
        assert param.process_value(click.Context(command), name) == "910B3"


def _options(command: click.Command) -> set[str]:
    return {name for param in command.params for name in param.opts}
