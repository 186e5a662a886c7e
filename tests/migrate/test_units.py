"""What is decided together across the files of a project."""

from __future__ import annotations

from pathlib import Path

from jumar.core.finding import State
from jumar.migrate import project
from jumar.migrate.result import ProjectResult
from jumar.migrate.settings import Settings

PROGRAMS = Path(__file__).parent / "programs"


def migrated(name: str) -> ProjectResult:
    return project.migrate([PROGRAMS / name], Settings(), jobs=1, cache=False)


def texts(result: ProjectResult) -> dict[str, str]:
    return {Path(file.path).name: file.after.decode() for file in result.files}


def test_an_implementation_keeps_its_name_in_every_file() -> None:
    result = migrated("own_words")
    after = texts(result)
    assert 'engine="cuda"' in after["ops.py"]
    assert 'engine = "cuda"' in after["use.py"]
    assert "engine: cuda" in after["config.yaml"]
    left = [one for one in result.findings() if one.state is State.HAND]
    assert not left


def test_a_device_changes_together_with_every_comparison() -> None:
    after = texts(migrated("own_words"))
    assert 'if config.place == "npu":' in after["use.py"]
    assert 'return config.place == "npu" or config.engine == "cuda"' in after["without_torch.py"]
    assert "place: npu" in after["config.yaml"]
