"""Explanations in Chinese: every row's words are translated, with what the log says in their places."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import message_errors
from jumar.core import lang
from jumar.machine.explain import log
from jumar.machine.explain.result import Explanation
from jumar.report import explain as report
from jumar.tables import error_words, errors

FILE = "<log>"
CHINESE = "[\u4e00-\u9fff]"
HALF = re.compile(rf"{CHINESE}[,;:](?: |{CHINESE})|{CHINESE} {CHINESE}")
"""A mark or a blank of English between Chinese words."""


@pytest.fixture(autouse=True)
def in_chinese() -> Iterator[None]:
    with lang.chosen(lang.CHINESE):
        yield


def _of(text: str) -> Explanation:
    return log.explain_text(text.split("\n"), FILE)


def _own(result: Explanation) -> Iterator[str]:
    """The lines of an explanation without words of the log."""
    items = [item for cause in result.causes for item in cause.occurrences]
    quoted = {word for item in items for word in (*item.values.values(), item.text) if len(word) > 3}
    for line in report.text(result):
        if not line.startswith("    | "):
            for word in sorted(quoted, key=len, reverse=True):
                line = line.replace(word, "…")
            yield line.removeprefix(f"  {FILE}")


def test_no_row_says_an_english_sentence() -> None:
    lines = [(row.id, line) for row in errors.signatures().values() for line in _own(_of(row.example))]
    assert not [row for row in lines if message_errors.has_words(row[1]) or HALF.search(row[1])]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "ValueError: Total number of attention heads (28) must be divisible by tensor parallel size (8).",
            "错误：28（Total number of attention heads）不能切分到 8（tensor parallel size）：8 不能整除 28",
        ),
        ("AssertionError: 25 is not divisible by 4", "错误：25 不能切分到 4：4 不能整除 25"),
        ("AssertionError: bananas need at least two cards", "错误：程序在自己的检查处停下：bananas need"),
        ("NPU out of memory. Tried to allocate 2.00 GiB", "原因：请求 2.00 GiB：显存已用完"),
        ("AttributeError: module 'numpy' has no attribute 'int'", "已经没有的名字：int\n"),
        ("NPU function error: f, error code is 507048", "来源："),
    ],
)  # fmt: skip
def test_words_of_the_log_stand_in_chinese_words(text: str, words: str) -> None:
    said = "\n".join(report.text(_of(text)))
    assert words in said, said


def test_json_stays_english() -> None:
    found = report.as_json(_of("AssertionError: 25 is not divisible by 4"))
    assert "25 cannot be split over 4" in found["causes"][0]["what"]
    assert not re.search(CHINESE, str(found))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("Ascend/pytorch#90", "Ascend/pytorch#90"),
        ("torch/serialization.py (form of the message); generic", "torch/serialization.py（报错的格式）；通用"),
        ("general knowledge of a/b; not checked page by page", "对 a/b 的一般了解；没有逐页核对"),
    ],
)
def test_remarks_of_a_source_are_translated(source: str, words: str) -> None:
    assert error_words.source(source) == words


@pytest.mark.parametrize(
    ("step", "has_words"),
    [
        ("npu-smi info; ls /dev/davinci* | grep davinci0", False),
        ("for i in {0..7}; do hccn_tool -i $i -ip -g; done", False),
        ("torch.npu.set_compile_mode(jit_compile=False)", False),
        ("npu-smi info   # other processes", True),
        ("--enforce-eager as a test", True),
        ("container: -v /usr/local/dcmi:/usr/local/dcmi", True),
        ("kubectl get node {node}; write `{label}` into the job", True),
        ("hccn_tool -i 0 -ping -g address <card of the other machine>", True),
    ],
)
def test_steps_with_words_are_told_from_commands(step: str, has_words: bool) -> None:
    assert message_errors.is_step(step) is has_words
