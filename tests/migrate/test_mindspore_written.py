"""What is written for names that MindSpore no longer has computes what they computed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jumar.tables import mindspore_names, mindspore_written
from program_files import program_file, program_text


def test_lines_take_the_spelling_of_the_file() -> None:
    row = mindspore_written.by_old_name()["mindspore.nn.ResizeBilinear"]
    assert row.lines("ms").startswith("class ResizeBilinearLayer(ms.nn.Cell):")
    assert "{ms}" not in row.lines("ms") and "mindspore.ops" not in row.lines("ms")


def test_no_name_is_in_both_tables() -> None:
    assert not mindspore_written.by_old_name().keys() & mindspore_names.names().keys()


def test_functions_are_known_under_all_their_modules() -> None:
    one = mindspore_names.arguments("mindspore.ops.matmul")
    assert one["x1"].now == "input" and one["dtype"].fix
    assert mindspore_names.arguments("mindspore.ops.functional.matmul") == one
    assert mindspore_names.arguments("mindspore.ops.operations.matmul") == {}


def test_renamed_arguments_exist(mindspore: str) -> None:
    wanted = {name: [row.now for row in rows.values() if row.now] for name, rows in mindspore_names.keywords().items()}
    program = program_text(__file__, "call_renamed_arguments")
    done = subprocess.run(
        [mindspore, "-c", program], input=json.dumps(wanted), capture_output=True, text=True, check=False
    )
    assert "missing:[]" in done.stdout.splitlines(), done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["0", "1"], ids=["graph", "pynative"])
def test_pictures_are_resized_as_before(mindspore: str, tmp_path: Path, mode: str) -> None:
    copy = tmp_path / "resize.py"
    shutil.copy(program_file(__file__, "resize_as_before"), copy)
    subprocess.run([sys.executable, "-m", "jumar", "migrate", "--write", str(copy)], capture_output=True, check=False)
    done = subprocess.run([mindspore, str(copy), mode], capture_output=True, text=True, check=False)
    assert "resized 10" in done.stdout, done.stdout + done.stderr
