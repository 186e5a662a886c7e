"""Codes, names and variables."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("name", "starts", "says"),
    [
        ("507008", "507008: ACL_ERROR_RT_SOC_VERSION", "ACL_507008: CANN cannot read"),
        ("EI0006", "EI0006: Communication_Error_Get_Socket\nHCCL, ", "HCCL_EI0006: ranks could not connect"),
        ("ei0006", "EI0006: ", "HCCL_EI0006"),
        ("EZ9999", "EZ9999: ", "read the line after it"),
        ("EI9999", "EI9999: a module of CANN reported an internal error", "E9999_INNER"),
        ("ERR00100", "ERR00100: torch_npu reports that a call into CANN failed", "PTA_ERR00100"),
        ("561003", "561003: ACLNN_ERR_INNER_FIND_KERNEL_ERROR", "ACLNN_NO_KERNEL"),
        ("ACL_ERROR_RT_AICORE_EXCEPTION", "507015: ", "ACL_507015"),
        ("HCCL_E_TIMEOUT", "9: HCCL_E_TIMEOUT", "result of a call of HCCL"),
        ("npu-oom", "NPU_OOM: the NPU ran out of memory", "PYTORCH_NPU_ALLOC_CONF"),
        ("HCCL_EXEC_TIMEOUT", "HCCL_EXEC_TIMEOUT: seconds that a collective waits", "without it: 1836"),
        ("NCCL_DEBUG", "NCCL_DEBUG: a variable of CUDA machines", ""),
        ("PT101", "# PT101 ", ""),
        ("cuda-device-string", "# PT101 cuda-device-string", ""),
    ],
)
def test_names(jumar: Run, name: str, starts: str, says: str) -> None:
    done = jumar("explain", name)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(starts)
    assert says in done.out


@pytest.mark.parametrize(
    ("name", "near"),
    [("HCCL_CONECT_TIMEOUT", "HCCL_CONNECT_TIMEOUT"), ("NPU_OMM", "NPU_OOM")],
)
def test_mistyped_names_get_the_nearest_one(jumar: Run, name: str, near: str) -> None:
    done = jumar("explain", name)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"error: no such file, code, finding or variable: `{name}`\n\nhint: did you mean `{near}`?\n"


def test_name_that_resembles_nothing(jumar: Run) -> None:
    assert "hint: give a log file, a code such as 507015" in jumar("explain", "zzzzqqqq").err


def test_json_of_a_code_and_of_several(jumar: Run) -> None:
    one = json.loads(jumar("explain", "--json", "EI0006").out)
    assert (one["kind"], one["signatures"][0]["id"]) == ("cann", "HCCL_EI0006")
    two = json.loads(jumar("explain", "--json", "EI0006", "507015").out)
    assert [answer["name"] for answer in two["answers"]] == ["EI0006", "507015"]


def test_message_in_quotes(jumar: Run) -> None:
    done = jumar("explain", "RuntimeError: NPU out of memory. Tried to allocate 1 GiB")
    assert done.code == 0
    assert done.out.startswith("error: the NPU ran out of memory\n")
