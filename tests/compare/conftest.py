"""One reference record for all tests of the comparison."""

from __future__ import annotations

from pathlib import Path

import pytest
from small import base


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return base(tmp_path_factory.mktemp("compare") / "reference")
