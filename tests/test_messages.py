"""The Chinese catalogue fits the sources: nothing is missing where it is complete, nothing is stale, words are ours."""

from __future__ import annotations

import ast

import pytest

import message_sources
import message_words
import messages


def test_the_catalogue_fits_the_sources() -> None:
    found = list(messages.problems())
    assert not found, "\n".join(
        [*found, "`python tools/messages.py --update` adds and drops texts; translate new ones"]
    )


@pytest.mark.parametrize(
    ("code", "texts"),
    [
        ('UserError(f"no such file: `{name}`")', ["no such file: `{0}`"]),
        (
            "f\"{n} read, {m} {'changed' if done else 'would change'}\"",
            ["{0} read, {1} changed", "{0} read, {1} would change"],
        ),
        ("f\"in {counted(n, 'log file')}\"", ["in {0}", "{0} log file", "{0} log files"]),
        ('say("one sentence" " in two parts")', ["one sentence in two parts"]),
        ('re.compile("no words here")', []),
        ('x == "no words here"', []),
        ('say("`jumar run x.py`")', []),
        ('say("docker run {0} {1} …")', []),
        ('say("jumar plan   # a pair that fits")', ["jumar plan   # a pair that fits"]),
        ('say("for block in model.blocks:")', []),
        ('say("npu-smi lists no NPU")', ["npu-smi lists no NPU"]),
        ('row.get("Input dims", "not a row of ours") + row["Call stack of it"]', ["not a row of ours"]),
        ('FIELDS = {"path": "a page says this"}', []),
    ],
)  # fmt: skip
def test_texts_are_found_as_templates(code: str, texts: list[str]) -> None:
    found = [
        message_sources.numbered(text)
        for node in message_sources._outer(ast.parse(code))
        for text in message_sources.templates(node)
        if message_words.is_prose(text)
    ]
    assert found == texts


def test_faults_of_an_entry_are_named() -> None:
    assert list(messages._faults("read `{0}` with `--all`", "读 `{1}`")) == [
        "a place that the English text does not have",
        "`--all` is missing",
    ]
    assert list(messages._faults("you", "您")) == ["says 您, which the glossary avoids"]
