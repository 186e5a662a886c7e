"""Words for single codes, libraries and modules; rows of several lines; warnings; errors in any dress."""

from __future__ import annotations

import pytest

from jumar.core.finding import Level
from jumar.machine.explain import log
from jumar.machine.explain.result import Explanation
from jumar.tables import errors
from jumar.tables.errors import Code, Lookup


def _of(text: str) -> Explanation:
    return log.explain_text(text.splitlines())


@pytest.mark.parametrize("kind", sorted(errors.notes()))
def test_notes_are_complete_and_of_a_known_lookup(kind: str) -> None:
    assert kind in [*Code, *Lookup]
    assert any(row.lookup == kind for row in errors.signatures().values())
    for note in errors.notes()[kind]:
        assert note.why and note.do and note.source and not note.what.endswith("."), note.match


@pytest.mark.parametrize("kind", [Code.ACL, Code.CANN])
def test_every_code_is_explained(kind: Code) -> None:
    """By a row of its own, or by a note; codes that begin with W are warnings."""
    line = {Code.ACL: "call failed, error code is {}", Code.CANN: "{}: [PID: 1] this happened"}[kind]
    catch_all = ("ACL_CODE", "CANN_CODE")
    for code in errors.codes(kind):
        if code.startswith("W"):
            continue
        best = _of(line.format(code)).causes[0].signature
        assert best.id not in catch_all or errors.note(kind, code), code


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("a.out: error while loading shared libraries: libascend_dump.so: cannot open shared object file", "CANN"),
        ("ImportError: libqos_manager.so: cannot open shared object file: No such file", "driver"),
        ("ImportError: libasdops.so: cannot open shared object file: No such file", "NNAL"),
        ("ImportError: libnuma.so.1: cannot open shared object file: No such file", "operating system"),
        ("ImportError: No module named npu_bridge.npu_init", "TensorFlow"),
        ("ModuleNotFoundError: No module named 'bitsandbytes'", "CUDA"),
        ("dcmi module initialize failed. ret is -8001", "driver"),
        ("there is an error: aclmdlExecute failed, error code is 507017", "AI CPU"),
    ],
)
def test_note_names_what_is_missing(line: str, word: str) -> None:
    best = _of(line).causes[0]
    assert word in best.signature.what + best.signature.why


def test_different_codes_are_different_causes() -> None:
    found = _of("call a failed, error code is 507013\ncall b failed, error code is 207006")
    assert len({cause.signature.why for cause in found.causes}) == 2


def test_row_of_several_lines_sees_those_below() -> None:
    found = _of("CMake Error at CMakeLists.txt:8 (include):\n  include could not find load file:\n\n    generic\n")
    assert found.causes[0].signature.id == "CMAKE_INCLUDE"
    assert found.causes[0].first.text.endswith("include could not find load file: generic")


def test_device_fault_comes_before_the_driver_message_after_it() -> None:
    found = _of(
        "Invalid_Argument(EL0003): The argument is invalid.\n"
        "The error from device(chipId:4, dieId:1), serial number is 3, there is an exception of fftsplus aicore error,"
        " core id is 0, error code = 0x800000, dump info: pc start: 0x12c0c131862c"
    )
    assert found.causes[0].signature.id == "DEVICE_AICORE_EXCEPTION"
    assert "outside its memory" in found.causes[0].signature.what


def test_warning_of_an_import_never_wins_and_is_no_error() -> None:
    warning = "WARNING 02-28 03:24:01 ops.py:19] Failed to import with ModuleNotFoundError: No module named 'fast_ops'"
    assert not _of(warning).has_error
    assert all(cause.signature.level is not Level.ERROR for cause in _of(warning).causes)
    failed = "TypeError: Builder.build() takes 3 positional arguments but 5 were given"
    assert _of(f"{warning}\n{failed}").causes[0].signature.id == "CALL_ARGUMENTS"


@pytest.mark.parametrize(
    "line",
    [
        "[2025-03-05 05:47:27.64404] [error] [269469] [base.cpp:231] bananas",
        "E20240718 00:43:44.989410 34702 Processor.hpp:174] bananas",
        "x.py::test_y E0413 20:03:08.764913058 122601 byte_stream.cc:40] bananas",
        "(APIServer pid=565) Traceback (most recent call last):",
        "12 BananaError: no",
        "pod-0 | yellow.BananaException: no",
        "\x1b[31mBananaError: no\x1b[0m",
        "docker: Error response from daemon: bananas",
        "failed to get bananas: ret code: -8010",
        "运行报错：bananas",
        "level=error msg=bananas",
        "npu-fruit: cannot find bananas",
    ],
)
def test_error_in_any_dress_exits_1(line: str) -> None:
    assert _of(line).has_error
