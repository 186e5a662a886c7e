"""The command line speaks the language that is asked for; programs always read English."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from jumar.cli.formatter import wrap
from jumar.cli.main import VERBS, jumar, main
from jumar.core import lang
from jumar.report.card import carried
from jumar.runtime import tell

Asked = Callable[..., tuple[int, str, str]]


@pytest.fixture
def asked(capsys: pytest.CaptureFixture[str]) -> Asked:
    def run(*args: str) -> tuple[int, str, str]:
        code = main(args)
        return code, *capsys.readouterr()

    return run


def test_an_option_wins_over_the_variable_and_that_over_the_locale(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no such command: `foo`" in asked("foo")[2]
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert asked("foo")[2] == "错误：没有这个命令：`foo`\n\n提示：`jumar --help` 列出各个命令\n"
    monkeypatch.setenv("JUMAR_LANG", "en")
    assert "no such command: `foo`" in asked("foo")[2]
    assert "没有这个命令" in asked("--lang", "zh", "foo")[2]
    assert "没有这个命令" in asked("--lang=zh", "foo")[2]


def test_a_language_that_does_not_exist_is_refused(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, said = asked("--lang", "fr", "foo")
    assert code == 2
    assert "'fr' is not one of 'zh', 'en'" in said
    code, _, said = asked("analyze", "--lang", "zh", ".")
    assert code == 2
    assert "`--lang` stands before the verb" in said
    monkeypatch.setenv("JUMAR_LANG", "fr")
    code, _, said = asked("--help")
    assert code == 2
    assert "`JUMAR_LANG=fr` is not a language" in said


def test_an_output_without_chinese_characters_gets_english(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert "no such command: `foo`" in asked("--lang", "zh", "foo")[2]


def test_json_stays_english(asked: Asked) -> None:
    code, out, _ = asked("--lang", "zh", "analyze", "--json", "no/such/place")
    assert code == 2
    assert json.loads(out)["errors"][0]["message"] == "no such file or folder: `no/such/place`"


def test_a_page_is_chinese_and_carries_english(asked: Asked, tmp_path: Path) -> None:
    path = tmp_path / "plan.html"
    assert asked("--lang", "zh", "plan", "--chip", "910B3", "--html", str(path))[0] in (0, 3)
    text = path.read_text(encoding="utf-8")
    assert "哪些版本互相配套？" in text and '<html lang="zh-CN">' in text
    assert carried(text)["title"] == "Which versions fit together?"


def test_a_group_alone_shows_its_commands(asked: Asked) -> None:
    code, _, said = asked("--lang", "zh", "emulate")
    assert code == 2
    assert said.startswith("用法：jumar emulate") and "\n  on        让" in said


def test_lines_inside_a_program_follow_the_reader(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tell.tell("building the emulator for torch 2.0 (once, under a minute)")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    tell.tell("building the emulator for torch 2.0 (once, under a minute)")
    english, chinese = capsys.readouterr().err.splitlines()
    assert english == "jumar: building the emulator for torch 2.0 (once, under a minute)"
    assert chinese == "jumar：正在为 torch 2.0 编译仿真器（只需一次，不到一分钟）"


def _helps() -> list[list[str]]:
    context = click.Context(jumar, info_name="jumar")
    found: list[list[str]] = [[]]
    for verb in VERBS:
        command = jumar.get_command(context, verb)
        found.append([verb])
        if isinstance(command, click.Group):
            found += [[verb, name] for name in command.list_commands(context)]
    return found


def test_all_help_is_chinese_and_fits_the_terminal(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for words in _helps():
        code, out, _ = asked("--lang", "zh", *words, "--help")
        assert code == 0, words
        body, _, _ = out.partition("示例：")
        assert not re.search(r"(?<![-\w])(the|of|and|with|this|default)\b", re.sub(r"`[^`]*`", "", body)), (words, body)
        for line in body.splitlines()[1:]:
            assert lang.width(line) <= 80, line
            assert not line.lstrip().startswith(tuple("，。：；、）")), line


def test_lines_break_between_characters_and_not_inside_words() -> None:
    assert wrap("在卡上运行 torch_npu 程序，再看。", 14) == ["在卡上运行", "torch_npu 程", "序，再看。"]
    assert wrap("", 14) == []
