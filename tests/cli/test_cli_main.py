"""The frame of all commands: help, errors in their two shapes, and how it ends when somebody stops it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import click
import pytest

from jumar import __version__
from jumar.cli import main as cli
from jumar.core.errors import UserError

Run = Callable[..., Any]


def test_help_lists_the_verbs(jumar: Run) -> None:
    done = jumar("--help")
    assert done.code == 0
    assert re.search(r"^  migrate +Show or make the changes that move CUDA code to Ascend NPUs$", done.out, re.M)
    assert jumar().out == done.out


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
