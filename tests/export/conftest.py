"""Where the tests of `jumar export` put their models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    """Write a model to a file of its own."""

    def write(model: Any, name: str = "model.onnx") -> Path:
        path = tmp_path / name
        path.write_bytes(model.SerializeToString())
        return path

    return write
