"""A place that cannot be written gets the same words from every command, and nothing half-written stays."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hostile
import outputs
import pytest

from jumar.cli.main import main

LIMIT = 60
pytestmark = pytest.mark.usefixtures("harmless")


def test_every_option_that_writes_is_tried() -> None:
    known = {*outputs.CALLS, *outputs.ELSEWHERE}
    assert set(outputs.options()) == known, "add a call to CALLS of tests/cli/outputs.py"


@pytest.mark.parametrize("option", sorted(outputs.CALLS))
def test_a_place_that_cannot_be_written(option: str, tmp_path: Path) -> None:
    outputs.prepare(tmp_path)
    call = outputs.CALLS[option].split()
    if "table.json" in call:
        assert main(["ranktable", "make", "a=hccn.conf", "--out", "table.json"]) == 0
    if "model.onnx" in call:
        (tmp_path / "model.onnx").write_bytes(outputs.model())
    targets = outputs.wrong_targets(tmp_path)
    found, problem = hostile.with_disks(tmp_path, lambda: list(_wrong(call, targets, tmp_path)))
    if problem.startswith("no "):
        pytest.skip(problem)
    assert not problem, problem
    assert not found, "\n".join(found)


def _wrong(call: list[str], targets: dict[str, str], folder: Path) -> Iterator[str]:
    for reason, place in targets.items():
        words = [word.replace("OUT", place) for word in call]
        before = _tree(folder)
        signal.alarm(LIMIT)
        with hostile.without_override():
            code, said = _called(words)
        signal.alarm(0)
        if code != 2 or said.count("error: ") != 1 or "\nhint: " not in said or "Traceback" in said:
            yield f"{reason}: exit code {code}: {said}"
        elif reason not in said and not re.search(r"`[^`]*/file\.txt` is not a folder", said):
            yield f"{reason}: other words: {said}"
        if left := sorted(_tree(folder) - before):
            yield f"{reason}: left behind: {left}"


def _called(words: list[str]) -> tuple[int, str]:
    """Exit code and messages; in a forked child nothing goes to pytest."""
    with open("/dev/null", "w") as out, tempfile.TemporaryFile("w+", dir="/dev/shm") as err:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
        err.seek(0)
        return code, err.read()


def _tree(folder: Path) -> set[str]:
    """All names below a folder, those that the home and the cache keep aside."""
    return {
        os.path.join(top, name)
        for top, folders, names in os.walk(folder)
        for name in (*folders, *names)
        if not top.startswith(str(folder / "home"))
    }
