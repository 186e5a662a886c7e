"""The survey of a collection finds what an installed MindSpore refuses."""

from __future__ import annotations

from pathlib import Path

import mindspore_survey

_OLD = """\
import mindspore.nn as nn
from mindspore.ops import operations as P, functional as F

layer = nn.ResizeBilinear()
dense = nn.Dense(4, 2, biased=True)
more = nn.Dense(*sizes)
total = P.Add()(F.shape(layer), other.Dense(1))
"""


def _collection(tmp_path: Path, text: str) -> Path:
    place = tmp_path / "official" / "cv" / "Net" / "src"
    place.mkdir(parents=True)
    (place / "net.py").write_text(text, encoding="utf-8")
    return tmp_path


def test_uses_have_full_names_and_what_is_given(tmp_path: Path) -> None:
    top = _collection(tmp_path, _OLD)
    used = list(mindspore_survey.uses(top / "official/cv/Net/src/net.py", top))
    assert {use["folder"] for use in used} == {"official/cv/Net"}
    called = [(use["name"], use["call"]) for use in used if "call" in use]
    assert ("mindspore.nn.Dense", [2, ["biased"]]) in called
    assert ("mindspore.nn.Dense", None) in called
    assert ("mindspore.ops.operations.Add", [0, []]) in called
    assert not any("other" in name for name, _ in called)


def test_names_and_calls_are_judged(tmp_path: Path, mindspore: str) -> None:
    found = mindspore_survey.judged(_collection(tmp_path, _OLD), mindspore)
    assert (found["folders"], found["of"]) == (1, 1)
    assert found["names"] == {"mindspore.nn.Dense": 1, "mindspore.nn.ResizeBilinear": 1}
