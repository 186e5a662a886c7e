"""Texts are translated where they are shown: whole, as templates, and never into half a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumar.core import lang

CATALOGUE = r"""
msgid "no such file: `{0}`"
msgstr "没有这个文件：`{0}`"

msgid "{0}: {1}"
msgstr "{0}：{1}"

msgid "cannot {0}: {1}"
msgstr "无法{0}：{1}"

msgid "cannot read `{0}`: {1}"
msgstr "无法读取 `{0}`：{1}"

msgid "read `{0}`"
msgstr "读取 `{0}`"

msgid "no permission"
msgstr "没有权限"

msgid "{0} files"
msgstr "{0} 个文件"

msgid "{0} read, {1} changed"
msgstr "读取 {0}，改变 {1} 个"

msgid "Show the version."
msgstr "显示版本。"

msgid "say \"{name}\"\nand go"
msgstr "说“{name}”\n然后走"

msgid "no such command: `jumar {0}`"
msgstr "没有这个命令：`jumar {0}`"

msgid "{0} ({1})"
msgstr "{0}（{1}）"

msgid "building {0}"
msgstr "正在编译 {0}"

msgid "the emulator"
msgstr "仿真器"

msgid "known: {0}"
msgstr "已知{0}"

msgid "not translated yet"
msgstr ""
"""


@pytest.fixture(autouse=True)
def _catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some.po").write_text(CATALOGUE, encoding="utf-8")
    monkeypatch.setattr(lang, "FOLDER", tmp_path)
    monkeypatch.setattr(lang, "_catalogue", lang._catalogue.__wrapped__)
    lang.translated.cache_clear()
    yield
    lang.translated.cache_clear()


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("no permission", "没有权限"),
        ("  no permission", "  没有权限"),
        ("no such file: `a b.py`", "没有这个文件：`a b.py`"),
        ("no such file: `no permission`", "没有这个文件：`no permission`"),
        ("cannot read `x`: no permission", "无法读取 `x`：没有权限"),
        ("3 files read, 2 changed", "读取 3 个文件，改变 2 个"),
        ("- no permission", "- 没有权限"),
        ("no permission: 202.0 us", "没有权限：202.0 us"),
        ("cannot read `x`: words of the system", "无法读取 `x`：words of the system"),
        ("Show the version", "显示版本"),
        ('say "hello"\nand go', "说“hello”\n然后走"),
        ("no permission\nno permission", "没有权限\n没有权限"),
        ("no such command: `jumar no permission`", "没有这个命令：`jumar no permission`"),
        ("building the emulator", "正在编译仿真器"),
        ("building torch", "正在编译 torch"),
        ("known: 3", "已知 3"),
        ("known: `a`, `b`", "已知 `a`、`b`"),
        ("3 files, `x`, 4 files, no permission", "3 个文件、`x`、4 个文件、没有权限"),
        ("no permission (3 files)", "没有权限（3 个文件）"),
        ("no permission (2), the emulator (1), building x, y (3)", "没有权限（2）、仿真器（1）、正在编译 x, y (3)"),
    ],
)
def test_a_finished_sentence_is_found(english: str, chinese: str) -> None:
    with lang.chosen("zh"):
        assert lang.t(english) == chinese
    assert lang.t(english) == english


@pytest.mark.parametrize(
    "text",
    [
        "words that nobody translated",
        "some words read, 2 changed",
        "pass `x` files",
        "train.py: words that nobody knows",
        "x: y",
        "not translated yet",
        "jumar net files",
        "",
    ],
)
def test_what_is_not_known_stays_english(text: str) -> None:
    with lang.chosen("zh"):
        assert lang.t(text) == text


def test_values_are_filled_in_and_translated() -> None:
    assert lang.t("{0}: {1}".replace("0", "a").replace("1", "b"), a="x", b=2) == "x: 2"
    with lang.chosen("zh"):
        assert lang.t('say "{name}"\nand go', name="no permission") == "说“没有权限”\n然后走"


def test_no_blank_is_left_between_chinese_words() -> None:
    values = {"who": "程序", "what": "配置", "n": "3", "words": "自己 的话"}
    assert lang.placed("由 {who} {what} {n} 个 {who}", values) == "由程序配置 3 个程序"
    assert lang.placed("{who}{when}", {"who": "程序", "when": " ，时间"}) == "程序，时间"
    assert lang.placed("{who} 说：{words}", values) == "程序说：自己 的话"


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8", "LC_MESSAGES": "zh_CN"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),
    ],
)
def test_the_locale_names_the_language(environ: dict[str, str], language: str) -> None:
    assert lang.of_locale(environ) == language


def test_a_chinese_character_takes_two_columns() -> None:
    assert lang.width("卡 0：") == 6
    assert lang.pad("卡", 4) + "|" == "卡  |"
    assert lang.pad("卡", 4, right=True) + "|" == "  卡|"


@pytest.mark.parametrize(
    ("left", "right", "line"),
    [
        ("安装工具", " （以 root 身份）", "安装工具（以 root 身份）"),
        ("检查： ", "dpkg", "检查：dpkg"),
        ("任意芯片 ", "的计划", "任意芯片的计划"),
        ("使用", "`npu`", "使用 `npu`"),
        ("卡  ", "显存", "卡  显存"),
        ("check: ", "dpkg", "check: dpkg"),
    ],
)
def test_chinese_is_set_without_needless_spaces(left: str, right: str, line: str) -> None:
    assert lang.meet(left, right) == line
