"""Particular failures: rows fire on their own words only, and know more than rows about codes and forms of lines."""

from __future__ import annotations

import re

import pytest

from jumar.machine.explain import log
from jumar.machine.explain.result import Explanation
from jumar.tables import errors
from jumar.tables.errors import Certainty, Signature
from jumar.tables.load import table

ROWS = errors.signatures()
THREADS = {id_: row for id_, row in ROWS.items() if row.is_thread}
SHARED = {
    "ACLNN_PARAM": "NPU_COMPLEX64_INDEX",
    "ACLOP_COMPILE": "ORT_CANN_BROADCAST",
    "ACL_500001": "SET_PRECISION_MODE",
    "GGML_CHECK": "LLAMACPP_ROPE_DIMS",
    "OPERATOR_CODE": "LF_QWEN25VL_EXPORT",
    "TRITON_COMPILE": "VA_GRID_65536",
}
"""Rows about a code or a form whose example is also a particular failure."""


def _of(text: str) -> Explanation:
    return log.explain_text(text.splitlines())


def _ids(text: str) -> list[str]:
    return [cause.signature.id for cause in _of(text).causes]


def test_rows_are_sorted_and_their_own() -> None:
    names = list(table("error_threads.toml")["threads"])
    assert names == sorted(names)
    others = {id_ for name in ("errors.toml", "error_forms.toml") for id_ in table(name)["errors"]}
    assert not others & set(names)
    sources = [row.source for row in THREADS.values()]
    assert all(re.search(r"[\w.-]+/[\w.-]+(?:#\d+|;| )", source) for source in sources), sources


def test_row_fires_on_its_own_words_and_on_no_other_example() -> None:
    """Leave one out: of all examples of all tables, a thread answers its own, and no other that it does not share."""
    for row in ROWS.values():
        found = _ids(row.example)
        if row.is_thread:
            assert row.id in found[:2], (row.id, found)
        expected = {row.id} if row.is_thread else {SHARED.get(row.id, "")}
        assert not {id_ for id_ in found if id_ in THREADS} - expected, (row.id, found)


def test_words_nearby_decide() -> None:
    row = _needs_more()
    first, *others = row.example.split("\n")
    assert row.id not in _ids(first)
    assert row.id in _ids("\n".join([*others, "a step", first]))
    assert row.id not in _ids("\n".join([*others, *["a step of the work" * 10] * 90, first]))


def _needs_more() -> Signature:
    return THREADS["VA_LM_HEAD_KEY"]


@pytest.mark.parametrize(
    ("line", "thread", "form"),
    [
        ("ImportError: cannot import name 'resolve_hf_chat_template' from 'vllm.entrypoints.chat_utils' (x)",
         "LM_EVAL_CHAT_TEMPLATE", "IMPORT_NAME_FROM"),
        ("AttributeError: 'FSDPPlanConfig' object has no attribute 'cpu_offload'",
         "MM_FSDP_CPU_OFFLOAD", "OBJECT_ATTRIBUTE"),
    ],
)  # fmt: skip
def test_form_of_the_line_stands_back(line: str, thread: str, form: str) -> None:
    found = _ids(line)
    assert found[0] == thread and form not in found
    other = _ids(re.sub(r"resolve_hf_chat_template|FSDPPlanConfig", "pear", line))
    assert form in other and thread not in other


def test_guess_says_so_and_stated_reason_leads() -> None:
    guess = "AttributeError: 'FSDPPlanConfig' object has no attribute 'cpu_offload'"
    found = _of(guess).causes[0].signature
    assert found.certainty is Certainty.POSSIBLE and found.source
    stated = "OSError: [Errno 28] No space left on device"
    assert _ids(f"{guess}\n{stated}")[0] == _ids(stated)[0]
    certain = "RuntimeError: out of memory, need block 12"
    assert _of(f"MindIE\n{certain}").causes[0].signature.certainty is Certainty.STATED
