"""The helper beside an adapted script: one download for each node, results that arrive, and clear failures."""

from __future__ import annotations

import ast
import re
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jumar.core.compat import stdlib_module_names
from jumar.migrate import copied
from jumar.tables.load import table
from program_files import program_text

sys.path.insert(0, str(Path(__file__).parent))
from cloud_jobs import Platform

HELPER = copied.text("jumar_cloud").decode()
FETCH = """
import sys, os, jumar_cloud
print(jumar_cloud.fetch("s3://b/mnist/"), flush=True)
print(sorted(os.listdir(jumar_cloud.fetch("s3://b/mnist/"))), flush=True)
"""
TRAIN = program_text(__file__, "adapted_training")
V1 = ("--data_url=s3://b/mnist/", "--train_url=s3://b/out/")


@pytest.fixture
def platform(tmp_path: Path) -> Platform:
    found = Platform(tmp_path)
    (found.code / "fetch.py").write_text(FETCH)
    (found.code / "train.py").write_text(TRAIN)
    return found


def test_helper_needs_no_package() -> None:
    tree = ast.parse(HELPER)
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree))
    assert names - {"moxing"} <= stdlib_module_names()


def test_helper_knows_the_same_names_as_the_table() -> None:
    space: dict[str, object] = {"__name__": "jumar_cloud", "__file__": "jumar_cloud.py"}
    exec(compile(HELPER, "jumar_cloud.py", "exec"), space)
    rows = table("cloud_paths.toml")
    patterns = {"data": "DATA_FLAG", "results": "RESULT_FLAG", "start": "START_FLAG", "config": "CONFIG_FLAG"}
    assert {kind: space[name].pattern for kind, name in patterns.items()} == rows["options"]  # type: ignore[attr-defined]
    assert space["DEVICE_FLAG"] == rows["devices"]


def test_a_loader_is_divided_only_in_a_job_with_more_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    space: dict[str, Any] = {"__name__": "jumar_cloud", "__file__": "jumar_cloud.py"}
    exec(compile(HELPER, "jumar_cloud.py", "exec"), space)
    torch = SimpleNamespace(DistributedSampler=lambda *given, **named: (given, named))
    for name in ("torch", "torch.utils", "torch.utils.data", "torch.utils.data.distributed"):
        monkeypatch.setitem(sys.modules, name, torch)
    monkeypatch.setenv("RANK_SIZE", "4")
    monkeypatch.setenv("RANK_ID", "1")
    monkeypatch.delenv("MA_HOME", raising=False)
    assert space["sampler"]("data", shuffle=True) is None and space["shuffle"](True) is True
    monkeypatch.setenv("MA_HOME", "/home/ma-user")
    assert space["sampler"]("data", shuffle=True) == (("data",), {"num_replicas": 4, "rank": 1, "shuffle": True})
    assert space["shuffle"](True) is False
    monkeypatch.setenv("RANK_SIZE", "1")
    assert space["sampler"]("data") is None


@pytest.mark.parametrize("size", [1, 8])
def test_a_node_downloads_once(platform: Platform, size: int) -> None:
    said = platform.run("fetch.py", size=size, SLOW="0.2")
    assert [code for code, _, _ in said] == [0] * size, said
    assert len({out for _, out, _ in said}) == 1
    assert "['one.ckpt', 'train']" in said[0][1]
    assert len(platform.transfers()) == 1


def test_a_killed_owner_is_followed_by_another(platform: Platform) -> None:
    first = platform.start("fetch.py", rank=0, size=3, SLOW="30")
    while not platform.transfers():
        time.sleep(0.02)
    others = [platform.start("fetch.py", rank=rank, size=3) for rank in (1, 2)]
    first.kill()
    first.communicate()
    for process in others:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0 and "['one.ckpt', 'train']" in out, err
    assert len(platform.transfers()) == 2


def test_a_failed_download_is_told_to_all_and_leaves_nothing(platform: Platform) -> None:
    said = platform.run("fetch.py", size=4, BROKEN="1", SLOW="0.2")
    assert all(code != 0 and "could not be fetched" in err for code, _, err in said)
    assert sum("another process says" in err for _, _, err in said) == 3
    assert len(platform.transfers()) == 3, "one process tries three times, the others believe it"
    assert not [path for path in (platform.top / "cache").rglob("*") if path.is_dir() and "mnist" in path.name]


def test_waiting_has_a_limit(platform: Platform) -> None:
    first = platform.start("fetch.py", rank=0, size=2, SLOW="30")
    while not platform.transfers():
        time.sleep(0.02)
    second = platform.start("fetch.py", rank=1, size=2, JUMAR_CLOUD_TIMEOUT="0.5")
    _, err = second.communicate(timeout=60)
    first.kill()
    first.communicate()
    assert second.returncode != 0
    assert f"for process {first.pid} to fetch the data; JUMAR_CLOUD_TIMEOUT is the limit" in err


def test_an_empty_source_is_an_error(platform: Platform) -> None:
    (platform.code / "fetch.py").write_text("import jumar_cloud\njumar_cloud.fetch('s3://b/nothing/')\n")
    [(code, _, err)] = platform.run("fetch.py")
    assert code != 0 and "s3://b/nothing/ could not be fetched: CloudError: nothing is there" in err


def test_addresses_work_on_one_device(platform: Platform) -> None:
    [(code, out, err)] = platform.run("train.py", *V1)
    assert code == 0, err
    assert re.search(r"ARGS \S+/in/mnist-\w+/train \S+/out/rank_0/ckpt/ None 0", out)
    assert platform.bucket() == ["ckpt/a.ckpt"]


def test_addresses_work_on_eight_devices(platform: Platform) -> None:
    said = platform.run("train.py", *V1, size=8)
    assert [code for code, _, _ in said] == [0] * 8, said
    assert [out.split()[-1] for _, out, _ in said] == [str(rank) for rank in range(8)]
    assert sum(line.startswith("s3://b/mnist/") for line in platform.transfers()) == 1
    assert platform.bucket() == sorted(["ckpt/a.ckpt", *(f"rank_{rank}/ckpt/a.ckpt" for rank in range(1, 8))])


@pytest.mark.parametrize("size", [1, 8])
def test_folders_of_the_platform_are_used_as_they_are(platform: Platform, tmp_path: Path, size: int) -> None:
    data, out = platform.buckets / "b" / "mnist", tmp_path / "outputs"
    said = platform.run("train.py", f"--data_url={data}", f"--train_url={out}/", size=size)
    assert all(code == 0 for code, _, _ in said), said
    assert all(f"ARGS {data}/train" in text for _, text, _ in said)
    assert (out / "ckpt" / "a.ckpt").read_text() == "weights"
    assert len(list(out.rglob("a.ckpt"))) == size
    assert platform.transfers() == []


def test_without_arguments_nothing_changes(platform: Platform) -> None:
    [(code, out, _)] = platform.run("train.py")
    assert (code, out) == (0, "ARGS ./data/train ./ckpt/ None 0\n")
    assert (platform.top / "device0" / "ckpt" / "a.ckpt").exists()


def test_unknown_arguments_are_an_error_only_outside_a_job(platform: Platform) -> None:
    [(code, _, err)] = platform.run("train.py", "--epocs=3")
    assert code == 2 and "unrecognized arguments: --epocs=3" in err
    [(code, _, err)] = platform.run("train.py", "--epocs=3", *V1)
    assert code == 0 and "arguments that this script does not know: --epocs=3" in err


@pytest.mark.parametrize(
    ("then", "code"), [("raise ValueError('no')", 1), ("sys.exit(3)", 3), ("os.kill(os.getpid(), 15)", 128 + 15)]
)
def test_results_arrive_after_a_bad_end(platform: Platform, then: str, code: int) -> None:
    [(found, _, err)] = platform.run("train.py", *V1, f"--then={then}")
    assert found == code, err
    assert platform.bucket() == ["ckpt/a.ckpt"]


def test_a_stopped_job_still_sends_its_results(platform: Platform) -> None:
    process = platform.start("train.py", *V1, "--then=time.sleep(30)")
    assert process.stdout is not None and process.stdout.readline().startswith("ARGS")
    while not list((platform.top / "cache").rglob("a.ckpt")):
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert platform.bucket() == ["ckpt/a.ckpt"]


def test_results_that_cannot_be_sent_fail_the_job(platform: Platform) -> None:
    then = "os.environ['BROKEN'] = '1'"
    [(code, _, err)] = platform.run("train.py", *V1, f"--then={then}")
    assert code != 0 and "results could not be copied to s3://b/out/: OSError: the bucket is not there" in err


def test_a_further_input_is_fetched_or_found_in_its_folder(platform: Platform, tmp_path: Path) -> None:
    [(code, out, err)] = platform.run("train.py", "--pretrained=s3://b/mnist/one.ckpt")
    assert code == 0, err
    assert out.split()[3].endswith("/one.ckpt") and Path(out.split()[3]).read_text() == "state"
    folder = tmp_path / "pretrained_0"
    folder.mkdir()
    (folder / "net.ckpt").write_text("state")
    [(code, out, _)] = platform.run("train.py", *V1, f"--pretrained={folder}")
    assert code == 0 and out.split()[3] == f"{folder}/net.ckpt"


@pytest.mark.parametrize(
    ("package", "message"),
    [(None, "MoXing is not installed"), ("answer = 42\n", "is not Huawei's MoXing: `pip uninstall moxing`")],
)
def test_addresses_without_moxing_are_a_clear_error(platform: Platform, package: str | None, message: str) -> None:
    moxing = platform.top / "packages" / "moxing.py"
    moxing.unlink()
    if package is not None:
        moxing.write_text(package)
    [(code, _, err)] = platform.run("train.py", *V1)
    assert code != 0 and message in err
    [(code, _, err)] = platform.run("train.py", f"--train_url={platform.top}/out")
    assert code == 0, err


def test_names_that_the_platform_does_not_set_are_filled(platform: Platform) -> None:
    (platform.code / "env.py").write_text(
        "import jumar_cloud, os\n"
        "print(*(os.environ.get(name) for name in ('DEVICE_NUM', 'RANK', 'WORLD_SIZE', 'LOCAL_RANK')))\n"
    )
    assert platform.run("env.py", size=2)[1][1] == "2 1 2 1\n"
    assert platform.run("env.py")[0][1] == "None None None None\n"


def test_own_copies_with_moxing_are_links_and_happen_once(platform: Platform) -> None:
    (platform.code / "own.py").write_text(program_text(__file__, "own_copies"))
    said = platform.run("own.py", str(platform.top / "there"), size=4)
    assert [(code, out) for code, out, _ in said] == [(0, "x True\n")] * 4, said
    assert len(platform.transfers()) == 1
    assert (platform.top / "there" / "y").exists()


def test_required_and_empty_paths_come_from_the_job(platform: Platform) -> None:
    (platform.code / "train.py").write_text(program_text(__file__, "paths_of_the_job"))
    data, out = platform.buckets / "b" / "mnist", platform.top / "out"
    [(code, said, err)] = platform.run("train.py", f"--data_url={data}", f"--train_url={out}")
    assert code == 0, err
    assert said == f"{data} {out} {data} ''\n"
    [(code, _, err)] = platform.run("train.py")
    assert code == 2 and "the following arguments are required: data, --save_dir" in err


def test_old_links_are_replaced(platform: Platform) -> None:
    (platform.code / "own.py").write_text(
        "from jumar_cloud import moxing as mox\n"
        "mox.file.copy_parallel('s3://b/mnist/', 'data')\nprint(open('data/one.ckpt').read())\n"
    )
    work = platform.top / "device0"
    (work / "data").mkdir(parents=True)
    (work / "data" / "one.ckpt").symlink_to("/gone")
    assert platform.run("own.py")[0][:2] == (0, "state\n")


SHIPPED = program_text(__file__, "shipped_training")


def test_paths_beside_the_script_are_found_in_a_job_and_left_alone_outside(platform: Platform) -> None:
    (platform.code / "shipped.py").write_text(SHIPPED)
    (platform.code / "auxiliary").mkdir()
    (platform.code / "missing.lst").write_text("x")
    [(code, out, err)] = platform.run("shipped.py", *V1)
    assert code == 0, err
    _, data, auxiliary, other, arch = out.split()
    assert data == str(platform.code / "missing.lst")
    assert auxiliary == str(platform.code / "auxiliary")
    assert other.endswith("/train") and other.startswith("/")
    assert arch == "auxiliary"
    [(_, out, _)] = platform.run("shipped.py")
    assert out.split() == ["ARGS", "missing.lst", "auxiliary", "train", "auxiliary"]
