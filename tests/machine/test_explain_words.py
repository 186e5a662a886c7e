"""The log's own words are quoted as whole sentences."""

from __future__ import annotations

import pytest

from jumar.machine.explain import log, words
from jumar.tables.errors import Role


@pytest.mark.parametrize(
    ("line", "start", "said"),
    [
        ('[ERROR] the "pear" must not be red', "must", 'the "pear" must not be red'),
        ("[ERROR] Failed to peel because it is not ripe", " to peel", "Failed to peel because it is not ripe"),
        ("ERROR 12-01 10:00:00 [core.py:4] the pear is not ready", "12-01", "the pear is not ready"),
        ("x: fig (a, b) should be 3", "should", "fig (a, b) should be 3"),
        ("', which is not supported", "', which", "which is not supported"),
        ("'pear', which is not supported", "'pear'", "'pear', which is not supported"),
        ('raised: pear must be red")', "pear", "pear must be red"),
        ("the fig must be red. Please paint it. See x", "the", "the fig must be red"),
        ("the fig is bad. It must be red. For more information ask", "the", "the fig is bad. It must be red"),
        ("it must be 3. Got 4 (of 7)", "it", "it must be 3. Got 4 (of 7)"),
        ("-1 is not allowed", "-1", "-1 is not allowed"),
    ],
)
def test_sentence_is_whole_and_without_advice(line: str, start: str, said: str) -> None:
    assert words.sentence(line, line.index(start), len(line)) == said


def test_long_words_end_between_two_words() -> None:
    said = words.plain("pear " * 100)
    assert said.endswith(" pear…") and len(said) <= 201


def test_exception_is_quoted_not_its_source() -> None:
    text = """Traceback (most recent call last):
  File "/usr/lib/python3/site-packages/fruit/core.py", line 7, in peel
    raise ValueError(f"the {fruit} must not be {colour}")
ValueError: the pear must not be red
"""
    found = log.explain_text(text.splitlines())
    assert found.causes[0].signature.what == "`fruit` refuses a value: the pear must not be red"
    assert all("{" not in cause.signature.what for cause in found.causes)


@pytest.mark.parametrize(
    "line",
    [
        "    raise RuntimeError(f'{name} is not ready: {why}')",
        "ERROR 12-01 10:00:00 [core.py:4]     raise PearError(message)",
        'logging.error("%s is not supported", name)',
    ],
)
def test_lines_of_source_are_known(line: str) -> None:
    assert words.is_source(line)


@pytest.mark.parametrize("line", ["AssertionError: assert 1 == 2 must hold", "ValueError: the raise must be 5 %"])
def test_messages_are_no_source(line: str) -> None:
    assert not words.is_source(line)


def test_prose_about_a_log_is_not_quoted() -> None:
    line = "I tried the new release but I get an error: it is not able to find the pear at all"
    assert all(cause.signature.role is not Role.SAID for cause in log.explain_text([line]).causes)
    assert words.is_prose("Does anyone know this error?")
    assert not words.is_prose("ERROR: I/O is not possible")
