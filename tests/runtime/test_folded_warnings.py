"""Warnings that mean nothing become one line; everything else passes as it comes."""

from __future__ import annotations

import warnings

import pytest

from jumar.cli.ranks_view import RanksView
from jumar.runtime import noise
from jumar.tables.load import table

PADDING = b"[W1117 12:08:04.036 NPUCachingAllocator.cpp:168] Warning: they require processing for 32 padding size (f)\n"
SCALER = b"[rank0]:[W1117 12:08:09.2 Amp.cpp:132] Warning: Non finite check and unscale on NPU device! (f)\n"
LINE = f"jumar: {noise.TOLD}\n".encode()


def _all(parts: list[bytes]) -> bytes:
    fold = noise.Fold()
    return b"".join(fold.feed(part) for part in parts) + fold.end()


def test_noise_becomes_one_line() -> None:
    assert _all([b"a\n" + PADDING + b"b\n" + SCALER + PADDING + b"c"]) == b"a\n" + LINE + b"b\nc"


def test_the_way_the_bytes_come_does_not_matter() -> None:
    text = b"a\n" + PADDING + b"[rank1]: b\n[W] c\n" + SCALER + b"d [W1117 e\n"
    whole = _all([text])
    assert _all([text[at : at + 1] for at in range(len(text))]) == whole
    assert whole == b"a\n" + LINE + b"[rank1]: b\n[W] c\nd [W1117 e\n"


@pytest.mark.parametrize("text", [b"name: ", b"[Worker] 3 %\r", b"[rank0] loading", b"[1/2] ", b"E1117 no memory"])
def test_other_unfinished_lines_pass_at_once(text: bytes) -> None:
    assert noise.Fold().feed(text) == text


def test_an_unfinished_warning_is_not_lost() -> None:
    assert _all([PADDING[:60]]) == PADDING[:60]


def test_other_warnings_pass() -> None:
    other = b"[W1117 12:08:04.036 NPUStream.cpp:1] Warning: the device is hot (f)\n"
    assert _all([other]) == other


def test_a_variable_shows_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUMAR_NOISE", "1")
    assert _all([PADDING + SCALER]) == PADDING + SCALER


def test_rows_say_why() -> None:
    assert all(set(row) == {"match", "why"} for row in table("noise.toml")["lines"])


def test_ranks_say_it_once(capsys: pytest.CaptureFixture[str]) -> None:
    view = RanksView(2)
    for rank in (0, 1):
        view.line(rank, SCALER.decode().rstrip())
        view.line(rank, "epoch 0")
    told = capsys.readouterr()
    assert (told.out, told.err) == ("[rank 0] epoch 0\n[rank 1] epoch 0\n", LINE.decode())


def test_warnings_of_an_import_become_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with noise.folded_warnings("torch is patched"):
        warnings.warn("replaced", ImportWarning, stacklevel=1)
        warnings.warn("disabled", RuntimeWarning, stacklevel=1)
    assert capsys.readouterr().err == "jumar: torch is patched; JUMAR_NOISE=1 shows its warnings\n"
    with noise.folded_warnings("torch is patched"):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("JUMAR_NOISE", "1")
    with pytest.warns(RuntimeWarning), noise.folded_warnings("torch is patched"):
        warnings.warn("disabled", RuntimeWarning, stacklevel=1)
