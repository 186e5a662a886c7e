"""Any Python source: the standard library and the installed packages go through without a crash, and still compile."""

from __future__ import annotations

import ast
import site
import sysconfig
import warnings
from pathlib import Path

import pytest

from jumar.migrate import project
from jumar.migrate.settings import Settings, Style

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
PACKAGES = [Path(folder) for folder in site.getsitepackages()]
PARTS = 16
SAMPLE = 1
"""Parts of `make test`; `make slow` takes the others."""
SKIP = ("test", "tests", "lib2to3", "idlelib", "site-packages")


def _sources() -> list[Path]:
    found = [path for path in LIBRARY.rglob("*.py") if not set(SKIP) & set(path.relative_to(LIBRARY).parts)]
    for folder in PACKAGES:
        found += folder.rglob("*.py")
    return sorted(path for path in found if path.is_file() and path.stat().st_size < 400_000)


def _compiles(data: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(data)
        except (SyntaxError, ValueError):
            return False
    return True


@pytest.mark.parametrize(
    "part", [*range(SAMPLE), *(pytest.param(n, marks=pytest.mark.slow) for n in range(SAMPLE, PARTS))]
)
def test_installed_sources_survive(part: int) -> None:
    settings = Settings(to=list(Style)[part % 3], unsafe=part % 2 == 0, multi_card=part % 4 == 3)
    sources = _sources()[part::PARTS]
    assert len(sources) > 100
    broken = []
    for path in sources:
        raw = path.read_bytes()
        result = project.migrate_bytes(path.as_posix(), raw, settings)
        if result is None or not result.changed:
            continue
        if _compiles(raw) and not _compiles(result.after):
            broken.append(path.as_posix())
        again = project.migrate_bytes(path.as_posix(), result.after, settings)
        if again is not None and again.after != result.after:
            broken.append(f"{path.as_posix()} (a second run changes it)")
    assert not broken
