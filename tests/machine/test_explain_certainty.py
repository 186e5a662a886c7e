"""Guesses are shown as guesses, reasons beat codes, wrapped messages are read, unknown errors are not explained."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.machine.explain import log
from jumar.machine.explain.result import Explanation
from jumar.tables import errors
from jumar.tables.errors import Certainty, Role

Run = Callable[..., Any]


def _of(text: str) -> Explanation:
    return log.explain_text(text.splitlines())


def _ids(text: str) -> list[str]:
    return [cause.signature.id for cause in _of(text).causes]


def test_code_alone_is_a_guess(jumar: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("the shapes are [4, 8]\nRuntimeError: call aclnnFoo failed, error code is 161002\nbye\n")
    done = jumar("explain", path)
    assert done.out.startswith("may be: ")
    assert "a guess: the log does not state the reason" in done.out
    assert "    | the shapes are [4, 8]\n    | bye\n" in done.out
    assert "possible reason: " in done.out and "why: " not in done.out
    found = json.loads(jumar("explain", "--json", path).out)
    assert found["causes"][0]["certainty"] == "possible"
    assert found["causes"][0]["lines"][0]["around"] == ["the shapes are [4, 8]", "bye"]


@pytest.mark.parametrize("row", errors.signatures().values(), ids=lambda row: row.id)
def test_catch_all_rows_are_never_verdicts(row: errors.Signature) -> None:
    if row.role in (Role.GENERIC, Role.UNKNOWN):
        assert row.certainty is Certainty.POSSIBLE


def test_stated_reason_beats_an_earlier_guess() -> None:
    guess = "RuntimeError: call aclnnFoo failed, error code is 561103"
    reason = "Tensor scale not implemented for DT_FLOAT16, should be in dtype support list [DT_BFLOAT16]"
    assert _ids(f"{guess}\n{reason}")[0] == _ids(f"{reason}\n{guess}")[0] == "ACLNN_DTYPE"


def test_message_that_is_wrapped_is_read_as_one() -> None:
    assert _ids("ImportError: cannot import name 'LLM' from 'vllm'\n    (unknown location)")[0] == "PACKAGE_PARTIAL"


def test_lines_that_do_not_belong_together_are_not_joined() -> None:
    assert "PACKAGE_PARTIAL" not in _ids("ImportError: cannot import name 'LLM' from 'vllm'\n(unknown location)")


TRACEBACK = """Traceback (most recent call last):
  File "/home/me/train.py", line 40, in main
    model.fit()
  File "/usr/lib/python3/site-packages/fruit/core.py", line 7, in fit
    raise BananaError("not ripe")
fruit.BananaError: not ripe
"""


def test_unknown_exception_is_quoted_with_its_places(jumar: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(TRACEBACK)
    done = jumar("explain", path)
    assert done.code == 1
    assert done.out.startswith("unknown error: ")
    assert "    your code: /home/me/train.py:40 in main\n" in done.out
    assert "    library: /usr/lib/python3/site-packages/fruit/core.py:7 in fit\n" in done.out
    assert "Jumar does not know its cause" in done.out


def test_frames_of_another_traceback_are_not_taken() -> None:
    found = _of(TRACEBACK + "going on\n" * 10 + "PeachError: no\n")
    assert [len(item.frames) for cause in found.causes for item in cause.occurrences] == [2, 0]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[Driver] [2024-01-02] [ERROR]: bananas\ndkms status: bananas", "installer"),
        ("npu-smi: bananas failed", "npu-smi"),
        ("Collecting bananas\n  Downloading bananas-1.0\nERROR: bananas", "pip"),
        ("-- Configuring bananas\nCMake Error: bananas", "build"),
        ("docker: Error response from daemon: bananas", "container"),
        ("ATC start working\nERROR: bananas", "atc"),
        ("INFO vllm bananas\nERROR vllm bananas", "service"),
        ("import mindspore\nERROR: bananas", "mindspore"),
        ("torchrun train.py\nERROR: bananas", "torch"),
        ("./run.sh: line 3: bananas failed", "shell"),
        ("ERROR: bananas", "other"),
    ],
)
def test_what_to_collect_fits_the_program(text: str, kind: str, jumar: Run, tmp_path: Path) -> None:
    assert _of(text).program == kind
    path = tmp_path / "a.log"
    path.write_text(text)
    rows = {row.kind: row for row in errors.programs()}
    assert json.loads(jumar("explain", "--json", path).out)["program"] == kind
    assert all(step and not step.endswith(".") for step in rows[kind].collect)


@pytest.mark.parametrize(
    ("line", "id_"),
    [
        ("NotADirectoryError: [Errno 20] Not a directory: '/data/a'", "FILE_KIND"),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/data/a'", "FILE_MISSING"),
        ("ImportError: libx.so.1: cannot open shared object file: Permission denied", "LIB_UNREADABLE"),
        ("ImportError: libx.so.1: cannot open shared object file: No such file or directory", "LIB_MISSING"),
        ("ImportError: /a/libx.so.1: undefined symbol: _ZN3abc", "UNDEF_SYMBOL"),
        ("dlopen libx.so.1 failed", "LIB_LOAD"),
    ],
)
def test_kinds_of_file_errors_are_told_apart(line: str, id_: str) -> None:
    assert _ids(line)[0] == id_


@pytest.mark.parametrize(
    ("line", "id_"),
    [
        ("ERROR: Could not find a version that satisfies the requirement a==1 (from versions: none)", "PIP_NO_FILE"),
        (
            "ERROR: Could not find a version that satisfies the requirement a==1 (from versions: 2.0)",
            "PIP_NO_SUCH_VERSION",
        ),
        ("OSError: Couldn't find executable bisheng or TRITON_NPU_COMPILER_PATH", "TRITON_NO_COMPILER"),
        ("RuntimeError: npu_x not support on this soc version, please use npu_y", "PTA_SOC"),
        ("ERR00007 PTA feature not supported: this parameter, please upgrade CANN", "PTA_CANN_OLD"),
        ("RuntimeError: world_size (6) is not divisible by 4", "DIVISIBLE"),
        ("./install.sh: line 9: syntax error near unexpected token `fi'", "SHELL_SCRIPT"),
        ("NotImplementedError: KV cache transfer is not supported for 310P.", "VLLM_310P"),
        ("[ERROR]drv_pcie_host modprobe failed", "DRV_MODULE_LOST"),
        ("RuntimeError: Failure:operator MatMul init failed", "MS_STRATEGY_FORM"),
    ],
)
def test_reason_is_better_than_the_code_around_it(line: str, id_: str) -> None:
    assert _ids(line)[0] == id_


def test_of_two_rows_for_one_line_the_one_with_more_words_leads() -> None:
    for row in errors.signatures().values():
        if row.source.startswith(
            ("hicann/driver scripts", "Ascend/triton-ascend", "the published torch_npu 2.13.0 wheel, l")
        ):
            assert _ids(row.example)[0] == row.id
