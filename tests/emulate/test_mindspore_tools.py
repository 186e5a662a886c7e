"""How the judges of MindSpore read what they found."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "tools"))


def _row(name: str, state: str, text: str = "", case: str = "") -> dict[str, str]:
    return {"case": case or f"{name}//0", "name": name, "state": state, "text": text}


def test_the_worst_sample_speaks_for_a_function(tools: None) -> None:
    import mindspore_mint as mint

    found = mint.judge(
        [
            _row("add", "passed"),
            _row("add", "not taken", "TypeError"),
            _row("exp", "passed"),
            _row("exp", "wrong", "value 0: off by 1"),
            _row("cdist", "error", "RuntimeError: OperatorFactory is not exist, op type: CdistGrad"),
            _row("trace", "wrong", "gradient 0: off by 0.5 of 0.5"),
        ]
    )
    assert {row.name: row.state for row in found} == {
        "add": "passed", "cdist": "refused", "exp": "wrong", "trace": "own rule",
    }  # fmt: skip
    assert "passed 1, own rule 1, refused 1, wrong 1" in mint.summary(found)


def test_a_value_that_differs_is_not_excused_by_a_rule_for_gradients(tools: None) -> None:
    import mindspore_mint as mint

    (row,) = mint.judge([_row("trace", "wrong", "value 0: off by 2 of 3")])
    assert row.state == "wrong"


def test_losses_of_a_release_are_compared_with_its_own_cpu_target(tools: None) -> None:
    import mindspore_versions as versions

    assert versions.differs({"lenet": [2.0, 1.0], "dropout": [0.2]}, {"lenet": [2.0, 1.00001]}, 1e-4) == ""
    found = {"lenet": [2.0, 1.1], "gpt": [float("nan")]}
    said = versions.differs(found, {"lenet": [2.0, 1.0], "gpt": [1.0], "resnet": [1.0]}, 1e-2)
    assert said == "lenet is off by 0.1, gpt is off by nan, resnet is missing"


def test_the_plugins_may_need_functions_of_any_name(tools: None, tmp_path: Path) -> None:
    import mindspore_symbols as needs

    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    package = tmp_path / "mindspore"
    folder = package / "lib" / "plugin" / "ascend"
    folder.mkdir(parents=True)
    sources = {
        "libmindspore_ascend.so.2": "int DlogFlush(void); int flush(void) { return DlogFlush(); }"
        'const char *names[] = {"first", "HcomAllReduce", "HcclCreateGroup", "HcomCreateGroup"};',
        "libhccl_plugin.so": "int Finalize(void); char *getenv(const char *);"
        'int PluginFinalize(void) { return getenv("HOME") ? Finalize() : 0; }',
    }
    for name, text in sources.items():
        command = [compiler, "-shared", "-fPIC", "-o", str(folder / name), "-x", "c", "-"]
        subprocess.run(command, input=text, text=True, check=True)
    found = needs.read(package)
    assert found.linked == {"DlogFlush", "Finalize"}  # getenv has a version: it is the system's
    assert found.by_name == {"HcomCreateGroup"}  # the others are an operator and a method of MindSpore
    assert needs.missing(found, {"DlogFlush"}) == ["Finalize", "HcomCreateGroup"]


def test_a_pipeline_is_judged_by_its_last_stage(tools: None) -> None:
    import mindspore_parallel as modes

    alone = {"pipeline": [2.0, 1.0], "data": [2.0, 1.0]}
    ranks = [{"pipeline": [0.0, 0.0], "data": [1.0, 0.5]}, {"pipeline": [2.0, 1.0], "data": [3.0, 1.5]}]
    assert modes.compare(alone, ranks) == {"pipeline": "equal", "data": "equal"}
    ranks[1]["pipeline"] = [2.0, 1.1]
    assert modes.compare(alone, ranks)["pipeline"].startswith("off by 0.1")


@pytest.mark.parametrize(
    ("text", "state", "cause"),
    [
        ("E   jumar: `aclnnSort`: data type 16 of aclDataType is not emulated\n", "refused", "data type 16"),
        (
            "E       AssertionError: 3\njumar: the graph engine (jit_level O2) is not emulated: kernels run alone\n",
            "wrong",
            "3",
        ),
        (
            'E  TypeError: Failed calling add with "add(Tensor)".\nE       The valid calling should be:\n',
            "not runnable",
            "add: this release takes other arguments",
        ),
        (
            "profiler = Profiler(output_path=p)\nprofiler.analyse()\nE       assert 0 == 1\n",
            "refused",
            "MindSpore's profiler",
        ),
        (
            "E   AttributeError: Module: 'Namespace:mindspore.ops' object has no attribute 'extend'\n",
            "not runnable",
            "extend: not in this release",
        ),
        ("E   jumar: operator `Conv2D`: std::bad_alloc\n", "not runnable", "more memory than the run gives"),
        (
            "E   jumar: `aclnnDot`: CANN takes two vectors, not [2, 3] and [3]\n",
            "not runnable",
            "this release hands it",
        ),
        ("E   jumar: `aclnnDot`: another thing\n", "failed", "`aclnnDot`: another thing"),
        ("a.cc:3:10: fatal error: acl/acl_base.h: No such file or directory\n", "refused", "CANN's headers"),
        (
            "E       RuntimeError: Graph Kernel Fusion is not enabled\njumar: graph kernels (jit_level O1) are not",
            "refused",
            "graph kernels",
        ),
        (
            "E       AssertionError: 3\njumar: graph kernels (jit_level O1) are not emulated: kernels run one by one\n",
            "wrong",
            "3",
        ),
        (
            "E       assert Tensor(shape=[], value= 22) == Tensor(shape=[], value= 6)\n",
            "wrong",
            "Tensor",
        ),
        ("E       Failed: DID NOT RAISE ValueError\n", "failed", "DID NOT RAISE ValueError"),
    ],
)
def test_notices_are_no_refusals_and_other_releases_are_no_errors(
    tools: None, text: str, state: str, cause: str
) -> None:
    import mindspore_st as st

    rules = st.read_rules(st._RULES)
    (case,) = st.judge({"tests/st/test_a.py": [{"name": "test_a", "state": "failed", "text": text}]}, {}, rules)
    assert case.state == state and cause in case.cause


def test_commands_of_the_vendors_tests_are_read_by_bash(
    tools: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mindspore_st_worker as worker

    if not Path("/bin/bash").exists():
        pytest.skip("no bash: the tests are run by sh")
    monkeypatch.setattr(subprocess.Popen, "__init__", subprocess.Popen.__init__)  # both are put back afterwards
    monkeypatch.setattr(os, "system", os.system)
    worker._use_bash()
    assert subprocess.getoutput("echo {0..2}") == "0 1 2"
    assert os.system(f"echo said &> {tmp_path}/log") == 0
    assert (tmp_path / "log").read_text() == "said\n"
    assert os.WEXITSTATUS(os.system("exit 3")) == 3


def test_documents_set_numbers_as_they_like(tools: None) -> None:
    import mindspore_examples_worker as worker

    assert worker.same("[[1., 2.],\n  [3.]]\n", "[[1. 2.]\n [3.0001]]\n")
    assert worker.same(
        "Tensor(shape=[2], dtype=Float32, value= [1e+00, 2])", "Tensor(shape=[2], dtype=Float32, value=[1, 2])"
    )
    assert not worker.same("[1. 2.]", "[1. 2.1]")
    assert not worker.same("[1. 2.]", "[1. 2. 0.]")
    assert not worker.same("dtype=Int32, 1", "dtype=Int64, 1")


def _example(
    text: str, state: str = "differs", source: str = "print(x)", whole: str = ">>> print(x)"
) -> dict[str, Any]:
    return {"name": "", "source": whole, "rows": [{"state": state, "source": source, "text": text}]}


def test_an_example_is_judged_by_what_the_cpu_target_does_with_it(tools: None) -> None:
    import mindspore_examples as examples

    right: dict[str, Any] = {"name": "", "source": "", "rows": []}
    refused = "RuntimeError: OperatorFactory is not exist, op type: RotatedIou"
    found = {
        "a": right, "b": _example("expected 1 got 2"), "c": _example("expected 1 got 2"),
        "d": _example("expected 1 got 2", whole=">>> x = ops.rand(2)"), "e": _example("NameError: name 'Net'", "error"),
        "f": _example(refused, "error"), "g": _example("ValueError: too many", "error"),
    }  # fmt: skip
    on_cpu = {
        "b": right,
        "c": _example("expected 1 got 3"),
        "d": right,
        "g": _example("ValueError", "error", "other()"),
    }
    assert {row.name: row.state for row in examples.judge(found, on_cpu)} == {
        "a": "passed", "b": "differs", "c": "own", "d": "drawn", "e": "not runnable", "f": "refused", "g": "failed",
    }  # fmt: skip


def test_a_case_draws_what_it_would_in_a_process_of_its_own(tools: None, tmp_path: Path) -> None:
    import io

    import numpy as np

    import mindspore_st_worker as worker

    before = np.random.get_state()
    try:
        np.random.seed(1)  # as the file does when it is read
        expected = np.random.RandomState(1).randint(1 << 40)
        plugin = worker._Plugin(io.StringIO(), set(), tmp_path / "out")
        plugin.pytest_collection_finish()
        for name in ("test_a", "test_b"):
            plugin.pytest_runtest_logstart(f"tests/st/test_a.py::{name}")
            assert np.random.randint(1 << 40) == expected
    finally:
        np.random.set_state(before)
