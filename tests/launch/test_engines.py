"""What each engine would be given, whole, against golden files."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jumar.core.errors import UserError
from jumar.launch import backends, submission
from jumar.launch.job import Job
from jumar.tables.load import table

JOB = Job(
    words=("train.py", "--name", "two words"), cards=8, folder="/home/me/project", logs="/home/me/project/logs/run",
    python="/opt/venv/bin/python",
)  # fmt: skip
JOBS = {
    "slurm": ("slurm", JOB),
    "slurm-nodes": ("slurm", replace(JOB, count=4, restarts=2, until="22:50", grace=120, signal="USR1", settings={
        "partition": "npu", "time": "2:00:00", "gres": "npu:8", "cpus-per-task": "192"})),
    "volcano": ("volcano", replace(JOB, settings={"image": "hub/train:1"})),
    "volcano-nodes": ("volcano", replace(JOB, count=2, name="bert", restarts=3, rank_table="auto", settings={
        "image": "hub/train:1", "namespace": "vcjob", "chip": "910", "arch": "huawei-x86", "claim": "code",
        "queue": "team.a"})),
    "msrun": ("msrun", JOB),
    "msrun-nodes": ("msrun", replace(JOB, cards=2, nodes=("me@host1", "host2"), bind="0-23:24-46,50", port=8118,
                                     settings={"tail-worker-log": "0"})),
    "ssh": ("ssh", replace(JOB, nodes=("me@host1", "host2"), extra=("--cuda",), rank_table="/shared/rank_table.json")),
    "ssh-elsewhere": ("ssh", replace(JOB, nodes=("host1",), settings={
        "folder": "/data/my project", "python": "python3.11", "ssh": "ssh -p 2222"})),
}  # fmt: skip


@pytest.mark.parametrize("name", JOBS)
def test_every_engine_shows_the_whole_of_what_it_gets(name: str, golden: Callable[[str, str], None]) -> None:
    engine, job = JOBS[name]
    plan = backends.engine(engine).build(job)
    golden(f"launch/{name}.txt", "\n".join(submission.shown(plan)) + "\n")


@pytest.mark.parametrize("name", ["volcano", "volcano-nodes"])
def test_the_manifest_is_yaml_and_has_only_published_fields(name: str) -> None:
    yaml = pytest.importorskip("yaml")
    engine, job = JOBS[name]
    [(_, text)] = backends.engine(engine).build(job).files
    config, document = yaml.safe_load_all(text)
    module = backends.engine(engine)
    assert [config, document] == [module.config_map(job), module.manifest(job)]
    assert json.loads(config["data"]["hccl.json"]) == {"status": "initializing"}
    facts = table("volcano.toml")
    assert document["apiVersion"] == "batch.volcano.sh/v1alpha1"
    assert set(document["spec"]) <= set(facts["fields"]["spec"])
    [task] = document["spec"]["tasks"]
    assert set(task) <= set(facts["fields"]["task"])
    limits = task["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert limits == {"huawei.com/Ascend910": 8}
    mounted = {one["name"] for one in task["template"]["spec"]["containers"][0]["volumeMounts"]}
    assert mounted == {one["name"] for one in task["template"]["spec"]["volumes"]}


def test_a_field_that_volcano_does_not_have_is_noticed() -> None:
    module = backends.engine("volcano")
    document = module.manifest(JOBS["volcano"][1])
    document["spec"]["replicas"] = 2
    with pytest.raises(ValueError, match="replicas"):
        module.check(document)


@pytest.mark.parametrize(
    ("engine", "job", "said"),
    [
        ("slurm", replace(JOB, settings={"partitoin": "x"}), "`--set partitoin=…` is not for Slurm"),
        ("slurm", replace(JOB, settings={"partition": "a b"}), "is not a value for Slurm"),
        ("slurm", replace(JOB, settings={"partition": ""}), "is not a value for Slurm"),
        ("volcano", JOB, "Volcano needs a container image"),
        ("volcano", replace(JOB, settings={"image": "a", "chip": "h100"}), "not known to the device plugin's list"),
        ("volcano", replace(JOB, name="My_Job", settings={"image": "a"}), "`My_Job` cannot be the name of a job"),
        ("volcano", replace(JOB, settings={"image": "a", "queue": "A"}), "`A` cannot be the name of a queue"),
        ("msrun", replace(JOB, restarts=1), "`--restarts` is not for msrun"),
        ("msrun", replace(JOB, words=("-m", "train")), "msrun starts Python scripts only"),
        ("msrun", replace(JOB, bind="0-3"), "does not give cores to 8 cards"),
        ("msrun", replace(JOB, bind="x"), "`x` is not a core"),
        ("ssh", replace(JOB, nodes=()), "`--nodes` names no machine"),
        ("ssh", replace(JOB, nodes=("a", "a")), "`--nodes` names no machine, or one twice"),
        ("ssh", replace(JOB, nodes=("-oProxyCommand=x",)), "is not the name of a machine"),
    ],
)
def test_wrong_wishes_are_refused(engine: str, job: Job, said: str) -> None:
    with pytest.raises(UserError, match=said):
        backends.engine(engine).build(job)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print('RANK_ID')")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--on", "slrum", "--cards", "8", "train.py"], "did you mean `slurm`?"),
        (["--on", "modelart", "--cards", "8", "train.py"], "did you mean `modelarts`?"),
        (["--on", "slurm", "train.py"], "`--cards N` must give the number of cards"),
        (["--on", "slurm", "--cards", "8"], "nothing to run"),
        (["--on", "slurm", "--cards", "8", "--set", "partition", "train.py"], "`--set partition` has no value"),
        (["--on", "slurm", "--cards", "8", "--nodes", "a,b", "train.py"], "takes a number of machines"),
        (["--on", "msrun", "--cards", "8", "--nodes", "2", "train.py"], "`--nodes 2`: which machines"),
        (["--on", "slurm", "--cards", "8", "no.py"], "no such script: `no.py`"),
        (["--on", "msrun", "--status", "1"], "`--on msrun` keeps no jobs"),
        (["--on", "volcano", "--status", "A B"], "is not the name of a Volcano job"),
    ],
)
def test_wrong_words_are_refused(jumar: Callable[..., Any], here: Path, words: list[str], said: str) -> None:
    done = jumar("launch", *words)
    assert done.code == 2
    assert said in done.err and "Traceback" not in done.err
    assert sorted(path.name for path in here.iterdir()) == ["train.py"]


@pytest.mark.parametrize("engine", ["slurm", "volcano", "msrun"])
def test_an_engine_that_is_not_installed_is_named(
    jumar: Callable[..., Any], here: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.setenv("PATH", str(here))
    image = ["--set", "image=a"] if engine == "volcano" else []
    done = jumar("launch", "--on", engine, "--cards", 8, *image, "train.py")
    program = {"slurm": "sbatch", "volcano": "kubectl", "msrun": "msrun"}[engine]
    assert done.code == 2 and f"`{program}` is not installed here" in done.err
    assert not (here / "logs").exists()


def test_msrun_gets_a_free_port_and_a_busy_one_is_refused(
    environment: dict[str, str], here: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = tmp_path_factory.mktemp("bin") / "msrun"
    program.write_text("#!/bin/sh\necho $*\n")
    program.chmod(0o755)
    environment["PATH"] = f"{program.parent}:{environment['PATH']}"

    def launch(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "jumar", "launch", "--on", "msrun", "--cards", "2", *words, "train.py"]
        return subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, check=False)

    done = launch()
    assert "--worker_num=2 --local_worker_num=2 --master_addr=127.0.0.1" in done.stdout, done.stderr
    assert "--master_port=29500" not in done.stdout
    with socket.socket() as other:
        other.bind(("", 0))
        other.listen()
        port = other.getsockname()[1]
        done = launch("--port", str(port))
    assert done.returncode == 2 and f"cannot use port {port}" in done.stderr


def test_print_starts_nothing(jumar: Callable[..., Any], here: Path) -> None:
    done = jumar("launch", "--on", "slurm", "--cards", 8, "--print", "train.py")
    assert done.code == 0 and "#SBATCH --gres=npu:8" in done.out
    assert sorted(path.name for path in here.iterdir()) == ["train.py"]
