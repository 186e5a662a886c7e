"""Machines that differ on purpose: each difference is found, named and classified; a clean one has none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from machines import SelfTest

from jumar.app import emulate

pytestmark = pytest.mark.slow
"""Each starts several processes that import torch; test_selftest_judge.py keeps a sample in `make test`."""


@pytest.mark.alone
def test_a_clean_machine_has_no_difference(selftest: SelfTest) -> None:
    done = selftest()
    assert done.found() == {} and done.code == 0, done.said
    states = {case["state"] for case in done.document["cases"]}
    assert states <= {"same", "skipped"} and len(done.document["cases"]) > 500
    assert done.document["machine"]["emulated"] is True


def test_wrong_results_are_found_and_named(selftest: SelfTest) -> None:
    cases = ["products/mm/*", "elementwise/sqrt/float16", "layers/gelu/*", "shapes/cat/*", "reductions/mean/*",
             "elementwise/tanh/float32", "reductions/cumsum/float32", "own_operators/rms-norm/float16",
             "elementwise/floor/float32", "device/memory", "libraries", "elementwise/add/*"]  # fmt: skip
    plants = "coarse,truncated,wrong,last_value,wider,not_a_number,turned,refused,on_the_cpu,counts_twice,no_opapi"
    done = selftest("--only", ",".join(cases), planted=plants)
    found = done.found()
    fault, unknown = "device fault", "unknown"
    assert done.code == 1
    assert found["products/mm/float32"] == {"values": unknown}
    assert found["elementwise/sqrt/float16"] == {"rounding": unknown}
    assert found["layers/gelu/float32"] == found["shapes/cat/int64"] == {"values": fault}
    assert found["reductions/mean/float16"] == found["reductions/mean/bfloat16"] == {"data type": fault}
    assert found["elementwise/tanh/float32"] == {"values": fault}
    assert found["reductions/cumsum/float32"] == {"layout": fault}
    assert found["own_operators/rms-norm/float16"] == {"error": unknown}
    assert found["elementwise/floor/float32"] == {"fallback": unknown}
    assert found["device/memory"] == {"fact": fault}  # a peak below what is allocated is wrong on any card
    assert found["libraries/libopapi.so"] == {"missing library": fault}
    assert not [id_ for id_ in found if id_.startswith(("elementwise/add", "libraries/libhccl"))]
    assert "as if rounded to bfloat16" in done.said
    assert "0.5 units of the last place towards 0" in done.said


@pytest.mark.alone
def test_hangs_crashes_slow_cards_and_collectives_are_found(selftest: SelfTest) -> None:
    cases = ["reductions/sort/float32", "reductions/topk/float32", "elementwise/mul/float32", "elementwise/add/float32",
             "speed/cards", "collectives/max/float32", "collectives/sum/float32"]  # fmt: skip
    plants = "hangs,dies,trembling,slow_second,sums_for_max"
    done = selftest("--patience", "30", "--only", ",".join(cases), planted=plants)
    assert done.found() == {
        "reductions/sort/float32": {"hang": "device fault"},
        "reductions/topk/float32": {"crash": "device fault"},
        "elementwise/mul/float32": {"not repeatable": "device fault"},
        "speed/cards": {"slow": "device fault"},
        "collectives/max/float32": {"values": "device fault"},
    }, done.said
    assert "card 1 takes" in done.said and "signal 11" in done.said


def test_a_missing_library_is_found(selftest: SelfTest) -> None:
    done = selftest("--only", "guide", planted="no_library")
    assert done.found() == {"start": {"missing library": "device fault"}}, done.said
    assert "libhccl.so" in done.said and done.code == 1


def test_a_wrong_name_of_a_chip_is_found(selftest: SelfTest, tmp_path: Path) -> None:
    own = emulate.environment(emulate.MachineRequest(cards=2))["PATH"].partition(":")[0]
    tool = tmp_path / "bin" / "npu-smi"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\n{own}/npu-smi "$@" | sed "s/910B3/910B4/"\n')
    tool.chmod(0o755)
    done = selftest("--only", "commands/npu-smi", PATH=f"{tool.parent}:{os.environ['PATH']}")
    assert done.found() == {"commands/npu-smi": {"name": "device fault"}}, done.said
    assert "torch_npu on the same machine says Ascend910B3" in done.said


@pytest.mark.alone
def test_a_slow_machine_is_found(selftest: SelfTest) -> None:
    done = selftest("--only", "speed/products,speed/launches", planted="slow")
    assert {kind for kinds in done.found().values() for kind in kinds} == {"slow"}, done.said
    assert "matmul_float32" in done.said


def test_a_test_that_ran_out_of_time_goes_on(selftest: SelfTest) -> None:
    words = ("--only", "guide,errors,reductions/sort/float32")
    first = selftest(*words, "--minutes", "0.1", "--patience", "600", planted="hangs")
    assert first.code == 3 and {case["state"] for case in first.document["cases"]} == {"not run"}, first.said
    assert "`--resume` with the same options goes on" in first.said
    second = selftest(*words, "--resume")
    assert second.code == 0 and {case["state"] for case in second.document["cases"]} == {"same"}, second.said
    assert not second.archive.with_suffix(".partial").exists()
