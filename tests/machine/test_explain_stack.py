"""Versions that a log prints: pairs that a table excludes are a likely cause, all others are no word worth."""

from __future__ import annotations

import pytest

from jumar.machine import pairs
from jumar.machine.explain import log, stack
from jumar.machine.pairs import Fit
from jumar.tables import vllm_versions
from jumar.tables.errors import Certainty

CODE = "RuntimeError: call aclnnPear failed, error code is 561103"


def _ids(text: str) -> list[str]:
    return [cause.signature.id for cause in log.explain_text(text.splitlines()).causes]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("torch==2.1.0\ntorch-npu==2.5.1", "torch_npu 2.5.1 belongs to torch 2.5.1, installed is torch 2.1.0"),
        ("- PyTorch version: 2.1.0 (NPU)\n[pip3] torch_npu==2.5.1", "installed is torch 2.1.0"),
        ("CANN version: 8.0.RC1\ntorch_npu 2.5.1", "installed is 8.0.RC1"),
        ("package_name=Ascend-cann-toolkit\nversion=8.2.RC1\nvLLM Ascend Version: 0.22.1rc1", "belongs to CANN 9.0.0"),
        ("vllm 0.7.3+empty\nvllm_ascend 0.9.1", "vllm-ascend 0.9.1 belongs to vLLM 0.9.1, installed is vLLM 0.7.3"),
    ],
)
def test_pair_that_does_not_fit_comes_before_a_bare_code(lines: str, words: str) -> None:
    found = log.explain_text(f"hello\n{lines}\n{CODE}".splitlines()).causes
    row = found[0].signature
    assert (row.id, row.certainty) == ("VERSION_PAIR", Certainty.POSSIBLE) and words in row.what and row.source
    assert found[0].first.line > 1 and found[0].first.text in lines
    assert found[1].signature.id == "ACLNN_561103"


@pytest.mark.parametrize(
    "lines",
    [
        "torch==2.5.1\ntorch-npu==2.5.1\nCANN version: 8.1.RC1",
        "torch==2.1.0\ntorch==2.5.1\ntorch-npu==2.5.1",
        "torch==2.5.1",
        "CANN version: 99.0\ntorch-npu==2.5.1",
        "vllm 0.1.dev1+g1\nvllm_ascend 0.9.1",
        "vllm 0.14.1\nvllm_ascend 0.14.0rc1",
    ],
)
def test_what_fits_or_is_unknown_or_told_twice_is_not_said(lines: str) -> None:
    assert "VERSION_PAIR" not in _ids(f"{lines}\n{CODE}")


def test_stated_reason_and_own_words_stay_first() -> None:
    pair = "torch==2.1.0\ntorch-npu==2.5.1"
    for reason in ("OSError: [Errno 28] No space left on device", "ValueError: max_pears must be a multiple of 8"):
        first, second, *_ = _ids(f"{pair}\n{reason}")
        assert (first, second) == (_ids(reason)[0], "VERSION_PAIR")
    assert not log.explain_text(pair.splitlines()).causes
    missing = "TypeError: peel() got an unexpected keyword argument 'fig'"
    assert _ids(f"{pair}\n{missing}")[0] == "VERSION_PAIR"


def test_versions_are_found_where_they_stand() -> None:
    text = "x\n  torch==2.5.1+cpu,\nnpu-smi 24.1.rc2  Version: 24.1.rc2\nPython version: 3.10.15 (main)\n"
    found = stack.places(text)
    assert {name: (place.version, place.line) for name, place in found.items()} == {
        "torch": ("2.5.1+cpu", 2),
        "driver": ("24.1.rc2", 3),
        "python": ("3.10.15", 4),
    }


def test_releases_of_vllm_ascend() -> None:
    row = vllm_versions.find("0.9.1+empty")
    assert row is not None and row.vllm == "0.9.1" and vllm_versions.find("0.0.1") is None
    assert pairs.vllm_ascend("0.0.1") == ()
    assert pairs.vllm_and_plugin("0.10.1.1", "0.10.1rc1").fit is Fit.FITS
    assert pairs.vllm_and_plugin("0.12.0", "0.10.1rc1").fit is Fit.DOES_NOT
    assert pairs.vllm_and_plugin("pear", "0.10.1rc1").fit is Fit.UNKNOWN
