"""The proof of `--multi-card`: converted scripts really run, alone and as two processes, and agree.

The scripts in `multicard/` are converted in the style `agnostic`, which uses gloo on a CPU. Two processes with half
the batch each must come to the numbers of one process with the whole batch.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jumar.migrate.passes.multicard import hooks
from jumar.migrate.project import migrate, migrate_bytes
from jumar.migrate.result import FileResult
from jumar.migrate.settings import Settings, Style

SCRIPTS = Path(__file__).parent / "multicard"
NAMES = [
    "mnist_like",
    "vae_like",
    "trainer_class",
    "module_level",
    "gan_like",
    "imagenet_like",
    "language_model",
    "loader_elsewhere",
    "mechanisms",
]
FILES = Path(__file__).parent / "programs" / "many_files"
"""A program of several files; its main file has the name of the folder."""
PROGRAMS = {FILES.name: False, f"sharded/{FILES.name}": True}
"""Its two styles: copied to each card, and split over them."""
BATCH = 16
# The plain CPU, also where torch_npu and the emulator are installed.
CPU = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "JUMAR_EMULATE": "0", "OMP_NUM_THREADS": "1"}
MULTI_CARD = frozenset({"PT300"})
DRIVER = Path(__file__).parent / "multicard_driver.py"


def convert(name: str, style: Style = Style.AGNOSTIC) -> bytes:
    raw = (SCRIPTS / f"{name}.py").read_bytes()
    result = migrate_bytes(f"{name}.py", raw, Settings(to=style, multi_card=True, only=MULTI_CARD))
    assert result is not None and [path for path, _ in result.extra] == [hooks.LAUNCHER]
    return result.after


def convert_files(folder: Path, settings: Settings) -> dict[str, bytes]:
    """Every file of a program by its name, as `jumar migrate` writes it."""
    files = {path.name: path.read_bytes() for path in folder.glob("*.py")}
    result = migrate([folder], settings, cache=False)
    return {**files, **{Path(one.path).name: one.after for one in result.files}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs every script alone and as two processes, in one Python that has loaded torch once."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    folder = tmp_path_factory.mktemp("multicard")
    for name in NAMES:
        (folder / f"{name}.py").write_bytes(convert(name))
        for world in (1, 2):
            (folder / f"{name}.{world}").mkdir()
    (folder / "its_loaders.py").write_bytes((SCRIPTS / "its_loaders.py").read_bytes())
    for name, sharded in PROGRAMS.items():
        settings = Settings(to=Style.AGNOSTIC, multi_card=True, sharded=sharded, only=MULTI_CARD)
        for world in (1, 2):
            (folder / f"{name}.{world}").mkdir(parents=True)
        for path, after in convert_files(FILES, settings).items():
            (folder / name).with_name(path).write_bytes(after)
    command = [sys.executable, str(DRIVER), str(folder), str(BATCH), *NAMES, *PROGRAMS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False, env=CPU)
    (folder / "codes").write_text(done.stdout)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def cpu_torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    import torch

    return torch


def results(folder: Path, name: str, world: int, rank: int = 0) -> list[float]:
    text = (folder / f"{name}.{world}.{rank}.log").read_text()
    lines = [line for line in text.splitlines() if line.startswith("RESULT")]
    return [float(number) for line in lines for number in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", line)]


@pytest.mark.parametrize("name", [*NAMES, *PROGRAMS])
def test_two_processes_come_to_the_numbers_of_one(runs: Path, name: str) -> None:
    codes = [line.split()[1:] for line in (runs / "codes").read_text().splitlines() if line.split()[0] == name]
    logs = {path.name: path.read_text()[-2000:] for path in runs.glob(f"{name}.*.log")}
    assert codes == [["1", "0"], ["2", "0"], ["2", "0"]], logs
    alone, together = results(runs, name, 1), results(runs, name, 2)
    assert len(alone) > 1
    assert together == pytest.approx(alone, rel=2e-4, abs=2e-5)


@pytest.mark.parametrize("name", [*NAMES, *PROGRAMS])
def test_only_the_first_process_talks(runs: Path, name: str) -> None:
    assert "RESULT" not in (runs / f"{name}.2.1.log").read_text()


@pytest.mark.parametrize("name", ["mnist_like", "gan_like", "imagenet_like"])
def test_saved_keys_have_no_prefix(runs: Path, name: str, cpu_torch: Any) -> None:
    torch = cpu_torch
    saved = torch.load(runs / f"{name}.2" / "model.pt", weights_only=True)
    alone = torch.load(runs / f"{name}.1" / "model.pt", weights_only=True)
    state, other = saved.get("state_dict", saved), alone.get("state_dict", alone)
    assert list(state) == list(other)
    for key, value in other.items():
        torch.testing.assert_close(state[key], value, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_several_files_saves_what_one_card_saves(runs: Path, name: str, cpu_torch: Any) -> None:
    torch = cpu_torch
    alone, together = (torch.load(runs / f"{name}.{world}" / "model.pt", weights_only=True) for world in (1, 2))
    assert list(together["state"]) == list(alone["state"]) and together["width"] == 8
    for key, value in alone["state"].items():
        torch.testing.assert_close(together["state"][key], value, rtol=1e-3, atol=1e-4)


def test_trainer_saves_the_attribute_of_the_unwrapped_model(runs: Path, cpu_torch: Any) -> None:
    torch = cpu_torch
    saved = torch.load(runs / "trainer_class.2" / "model.pt.d" / "best.pt", weights_only=True)
    assert saved["width"] == 8
    assert all(not key.startswith("module.") for key in saved["model"])


@pytest.mark.parametrize("style", list(Style))
@pytest.mark.parametrize("name", NAMES)
def test_second_run_changes_nothing(name: str, style: Style) -> None:
    once = convert(name, style)
    again = migrate_bytes(f"{name}.py", once, Settings(to=style, multi_card=True, only=MULTI_CARD))
    assert again is not None and again.after == once and not again.extra


@pytest.mark.parametrize("name", NAMES)
def test_npu_style_differs_from_the_tested_one_only_in_spelling(name: str) -> None:
    """What runs on gloo above is what runs on hccl: the same program line by line."""
    shim = [
        ("; import torch_npu", ""),
        ("import torch_npu\n", ""),
        (", device_ids=[LOCAL_RANK]", ""),
        ('    torch.distributed.init_process_group("hccl")', "INIT"),
        ("torch.npu.set_device(LOCAL_RANK)", "SET"),
        ('CARD = torch.device("npu", LOCAL_RANK)\n', ""),
    ]
    same = [
        ("if torch.accelerator.is_available():", "SET"),
        ("    torch.distributed.init_process_group(torch.distributed.get_default_backend_for_device(CARD))", "INIT"),
    ]
    npu, agnostic = convert(name, Style.NPU).decode(), convert(name).decode()
    for old, new in shim:
        npu = npu.replace(old, new)
    for old, new in same:
        agnostic = agnostic.replace(old, new)
    agnostic = re.sub(r"\n *torch\.accelerator\.set_device_index\(LOCAL_RANK\)", "", agnostic)
    agnostic = re.sub(r"CARD = torch\.accel.*\n", "", agnostic)
    npu, agnostic = (re.sub(r"(?m)^ *(INIT|SET)$", r"\1", text) for text in (npu, agnostic))
    assert npu == agnostic


def test_the_model_is_followed_into_other_files() -> None:
    after = convert_files(FILES, Settings(multi_card=True))
    assert b"unwrapped(net).width" in after["evaluate.py"]
    assert b"self.model = DistributedDataParallel(self.model" in after["trainer.py"]
    assert b"unwrapped(self.model).state_dict()" in after["trainer.py"]
    assert b"self.loader = split_over_cards(self.loader)" in after["trainer.py"]
    assert after["loaders.py"] == (FILES / "loaders.py").read_bytes(), "it makes the loader of the tests too"
    assert b'init_process_group("hccl")' in after["many_files.py"]
    assert not any(b"init_process_group" in after[name] for name in after if name != "many_files.py")


def test_a_sharded_program_keeps_attributes_and_gathers_states() -> None:
    after = convert_files(FILES, Settings(multi_card=True, sharded=True))
    assert after["evaluate.py"].count(b"unwrapped") == 0 and b"net.width" in after["evaluate.py"]
    assert b"    shard_over_cards(self.model)\n" in after["trainer.py"]
    assert b'save_from_all({"state": full_state_dict(self.model)' in after["trainer.py"]


def sharded(raw: bytes) -> FileResult:
    result = migrate_bytes("train.py", raw, Settings(multi_card=True, sharded=True))
    assert result is not None
    return result


def test_a_method_of_a_sharded_model_gathers_its_parameters() -> None:
    raw = (SCRIPTS / "vae_like.py").read_bytes()
    assert b'register_fsdp_forward_method(model, "decode")' in sharded(raw).after
    nested = sharded(
        raw.replace(b"return self.decode(mu), mu, logvar", b"return self.fc1(self.decode(mu)), mu, logvar")
    )
    assert b"register_fsdp_forward_method" not in nested.after
    assert "`model.decode`: outside `forward` each process of a sharded model has a part of each parameter" in {
        one.message for one in nested.findings
    }


def test_a_model_with_a_scalar_parameter_is_not_sharded() -> None:
    raw = (SCRIPTS / "vae_like.py").read_bytes()
    before = b"        super(VAE, self).__init__()\n"
    assert before in raw
    scalar = sharded(raw.replace(before, before + b"        self.scale = nn.Parameter(torch.log(torch.tensor(0.5)))\n"))
    assert b"fully_shard" not in scalar.after
    assert any("is a parameter without dimensions" in one.message for one in scalar.findings)


def test_a_second_run_over_several_files_changes_nothing(tmp_path: Path) -> None:
    for name, data in convert_files(FILES, Settings(multi_card=True)).items():
        (tmp_path / name).write_bytes(data)
    again = migrate([tmp_path], Settings(multi_card=True), cache=False)
    assert not [one.path for one in again.files if one.changed]


def test_only_the_main_file_gets_a_launch_script() -> None:
    result = migrate([FILES], Settings(multi_card=True), cache=False)
    assert [Path(one.path).name for one in result.files if one.extra] == ["many_files.py"]


def test_a_program_that_joins_its_group_in_another_file_is_left_alone() -> None:
    folder = FILES.with_name("joined_elsewhere")
    result = migrate([folder], Settings(multi_card=True, only=MULTI_CARD), cache=False)
    assert not [one.path for one in result.files if one.changed]


def test_parameters_are_searched_only_with_a_reason() -> None:
    raw = (SCRIPTS / "mechanisms.py").read_bytes()
    result = migrate_bytes("mechanisms.py", raw, Settings(multi_card=True))
    assert result is not None and b"find_unused_parameters=True" in result.after
    said = [finding.message for finding in result.findings if finding.id == "PT304"]
    assert said == [
        "`model` is wrapped in `DistributedDataParallel`, which looks for unused parameters: "
        "`forward` of `Net` uses `self.extra` only in a branch"
    ]
    assert not any(b"find_unused" in convert(name) for name in NAMES if name != "mechanisms")


def test_a_distributed_script_is_left_alone() -> None:
    raw = (SCRIPTS / "accelerate_like.py").read_bytes()
    result = migrate_bytes("a.py", raw, Settings(multi_card=True, only=MULTI_CARD))
    assert result is not None and result.after == raw and not result.extra
    assert [(finding.id, str(finding.state)) for finding in result.findings] == [("PT300", "benign")]


@pytest.mark.slow
def test_torchrun_starts_a_converted_script(tmp_path: Path) -> None:
    """On emulated cards: HCCL meets in shared memory, whereas gloo's connections fail on some machines."""
    if importlib.util.find_spec("torch_npu") is None:
        pytest.skip("torch_npu is not installed")
    script = tmp_path / "mnist_like.py"
    result = migrate_bytes(script.name, (SCRIPTS / script.name).read_bytes(), Settings(multi_card=True))
    assert result is not None
    script.write_bytes(result.after)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    command = [*torchrun, str(script), "--epochs", "1"]
    cards = {**os.environ, "JUMAR_EMULATE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=cards)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("RESULT test") and done.stdout.count("RESULT test") == 1
