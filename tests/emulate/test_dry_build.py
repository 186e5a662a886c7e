"""The library of a dry run: which torch_npu it is for."""

from __future__ import annotations

from importlib import metadata

import pytest

from jumar.core.errors import UserError
from jumar.emulate.dry import build


@pytest.mark.parametrize(
    ("installed", "fits"), [("2.9.0.post6", False), ("2.12.0", False), ("2.13.0.post2", True), ("3.0.0", True)]
)
def test_what_the_library_fits(installed: str, fits: bool) -> None:
    assert build.fits(installed) is fits


def test_an_older_torch_npu_is_refused_before_anything_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: "2.12.0")
    build.library.cache_clear()
    with pytest.raises(UserError, match=r"^a dry run needs torch_npu 2\.13 or later, found 2\.12\.0$") as raised:
        build.library()
    assert raised.value.hint.startswith("the tested pair is torch ")
