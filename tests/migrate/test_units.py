"""What is decided together across the files of a project."""

from __future__ import annotations

from pathlib import Path

from jumar.core.finding import State
from jumar.migrate import project
from jumar.migrate.result import ProjectResult
from jumar.migrate.settings import Settings
from jumar.report import text

PROGRAMS = Path(__file__).parent / "programs"


def migrated(*names: str) -> ProjectResult:
    return project.migrate([PROGRAMS / name for name in names], Settings(), jobs=1, cache=False)


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


def test_a_choice_of_accelerator_changes_in_the_configuration_too() -> None:
    after = texts(migrated("own_accelerator"))
    assert 'if accelerator == "npu":' in after["trainer.py"]
    assert "accelerator: npu" in after["config.yaml"]


def needed(*names: str) -> list[str]:
    found = migrated(*(f"needs_others/{name}" for name in names)).findings()
    return [one.subject for one in found if one.id == "PT004"]


def test_a_file_alone_says_which_others_it_needs() -> None:
    assert needed("train.py") == ["config.yaml", "places.py"]


def test_files_that_are_migrated_together_need_no_others() -> None:
    assert needed("train.py", "config.yaml", "places.py") == []
    assert [one.id for one in migrated("needs_others").findings() if one.id == "PT004"] == []


def test_only_gaps_remain_in_a_project_that_supports_ascend() -> None:
    result = migrated("supports_ascend")
    after = texts(result)["device.py"]
    assert 'return "cuda" if torch.cuda.is_available() else "cpu"' in after
    assert "return x.npu()" in after
    assert [(Path(where.path).name, where.line) for where in result.supports_ascend] == [("device.py", 6)]
    first = next(text.summary(result))
    assert first.startswith("This project already supports Ascend (`")
    assert first.endswith("device.py:6`); these gaps remain")


def test_a_project_for_cuda_does_not_support_ascend() -> None:
    assert migrated("needs_others").supports_ascend == ()


def test_a_value_that_is_replaced_for_npus_stays() -> None:
    after = texts(migrated("knows_npus"))
    assert "amp = torch.cuda.amp.autocast" in after["train.py"]
    assert 'return "cuda"' in after["train.py"]


def test_a_file_without_npus_changes_in_a_project_that_knows_them() -> None:
    assert 'device = "npu"' in texts(migrated("knows_npus"))["serve.py"]


def test_modules_that_the_project_compiles_for_cuda_are_named_where_they_are_imported() -> None:
    found = migrated("own_extension").findings()
    told = {(Path(one.where.path).name, one.subject, one.state) for one in found if one.id == "PT200" and one.where}
    assert told == {
        ("model.py", "fast_engine", State.UNSUPPORTED),
        ("model.py", "_C", State.UNSUPPORTED),
        ("optional.py", "fast_engine", State.FALLBACK),
    }


def test_a_test_in_front_of_a_compiled_kernel_stays() -> None:
    assert "if x.is_cuda:" in texts(migrated("own_extension"))["model.py"]


def test_a_test_in_front_of_a_function_of_an_optional_package_stays() -> None:
    after = texts(migrated("optional_kernel"))["check_losses.py"]
    assert "torch.cuda.device_count() < 1" in after
    assert "torch.randn(2, 3).cuda()" in after


def test_questions_of_a_build_of_cuda_kernels_stay() -> None:
    assert "if not torch.cuda.is_available():" in texts(migrated("own_extension"))["setup.py"]
