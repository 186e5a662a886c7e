"""What the emulator refuses and what falls back to the CPU is recorded, whoever refuses it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from running import Run
from stand_ins import Library

from jumar.emulate import verify
from jumar.runtime import refusals, variables
from jumar.runtime.refusals import Kind, Refusal
from program_files import program_file, program_text

FUNCTION = Refusal(Kind.FUNCTION, "aclmdlSetDump")
OPERATOR = Refusal(Kind.OPERATOR, "npu::npu_fused_attention_layernorm_qkv_fwd")
ARGUMENTS = Refusal(Kind.ARGUMENTS, "npu::npu_lstm")
FALLBACK = Refusal(Kind.FALLBACK, "aten::_linalg_eigh.eigenvalues")
_PROGRAM = program_text(__file__, "refused_calls")


def test_functions_operators_arguments_and_fallbacks_are_recorded(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "refusals"
    run(_PROGRAM, **{variables.REFUSAL_FILE.name: str(path)})
    assert refusals.read(path) == (FUNCTION, OPERATOR, ARGUMENTS, FALLBACK)


def test_two_processes_write_one_record(emulator: None, machine: str, tmp_path: Path) -> None:
    path = tmp_path / "refusals"
    script = str(program_file(__file__, "refused_calls"))
    environ = {**os.environ, "JUMAR_MACHINE": machine, "JUMAR_EMULATE": "1", variables.REFUSAL_FILE.name: str(path)}
    running = [subprocess.Popen([sys.executable, script], env=environ, cwd=tmp_path) for _ in range(2)]
    assert [process.wait(300) for process in running] == [0, 0]
    kinds = [line.split("\t")[0] for line in path.read_text().splitlines()]
    assert sorted(kinds) == sorted(["function", "operator", "arguments", "fallback"] * 2)
    assert set(refusals.read(path)) == {FUNCTION, OPERATOR, ARGUMENTS, FALLBACK}


def test_arguments_that_a_kernel_does_not_take_are_recorded(
    card: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "refusals"
    monkeypatch.setenv(variables.REFUSAL_FILE.name, str(path))
    x = np.zeros((2, 3), "float32")
    assert card.by_type("SoftmaxV2", [x], [x.copy()], axes=[0, 1]) != 0
    assert card.call("aclnnMedian", x.T, x.copy()) != 0
    assert card.call("aclnnAdd", x, np.zeros((4, 5), "float32"), 1.0, x.copy()) != 0  # wrong on a device, too
    assert refusals.read(path) == (Refusal(Kind.ARGUMENTS, "SoftmaxV2"), Refusal(Kind.ARGUMENTS, "aclnnMedian"))


@pytest.mark.parametrize(("call", "refused"), [("operator", OPERATOR), ("arguments", ARGUMENTS), ("value", None)])
def test_verify_names_what_ended_the_program(
    call: str,
    refused: Refusal | None,
    emulator: None,
    namespaces: None,
    machine: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JUMAR_MACHINE", machine)
    project, place = tmp_path / "project", tmp_path / "place"
    for folder in (project, place):
        folder.mkdir()
    (project / "train.py").write_text(_PROGRAM, encoding="utf-8")
    found = verify.run([sys.executable, "train.py", call], project, os.environ, place, (), sandbox=True)
    assert (found.code, found.refused) == (1, refused)
