"""Jobs of the stand-in from the command line: contract, failures, logs, results; and that no key is ever written."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.cloud import contract, secrets
from jumar.cloud.job import LogEnd, State
from jumar.cloud.standin import watchdog
from jumar.cloud.standin.jobs import Jobs
from program_files import program_text

Jumar = Callable[..., Any]
SCRIPT = program_text(__file__, "training_job")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = tmp_path / "project"
    (top / "code").mkdir(parents=True)
    (top / "data").mkdir()
    (top / "code" / "train.py").write_text(SCRIPT)
    (top / "data" / "a.txt").write_text("alpha")
    monkeypatch.chdir(top)
    return top


SUBMIT = ("cloud", "submit", "--code", "code", "--boot", "train.py", "--data", "data")


@pytest.mark.parametrize("isolate", ["1", "0"], ids=["private", "rewritten"])
def test_first_job(jumar: Jumar, project: Path, monkeypatch: pytest.MonkeyPatch, isolate: str) -> None:
    monkeypatch.setenv("JUMAR_CLOUD_ISOLATE", isolate)
    monkeypatch.setenv("MY_SECRET_KEY", "must-not-reach-the-job")
    done = jumar(*SUBMIT, "--devices", "2", "--param", "epochs=3", "--env", "GLOG_v=2", "--name", "first", "--follow")
    assert done.code == 0, done.out + done.err
    assert sorted(done.out.splitlines()) == ["[rank 0] rank 0 sees ['a.txt']", "[rank 1] rank 1 sees ['a.txt']"]
    assert not os.path.exists("/cache/scratch")
    assert jumar("cloud", "pull", "--last", "-o", "out").code == 0
    seen = json.loads(Path("out/env-1.json").read_text())
    assert (seen["DEVICE_ID"], seen["RANK_ID"], seen["RANK_SIZE"], seen["GLOG_v"]) == ("1", "1", "2", "2")
    assert "DEVICE_NUM" not in seen
    assert "must-not-reach-the-job" not in json.dumps(seen)
    assert "--epochs=3" in seen["ARGS"]
    if "private" in os.environ.get("PYTEST_CURRENT_TEST", "") and seen["MA_HOME"] == "/home/ma-user":
        assert "--data_url=/home/ma-user/modelarts/inputs/data_url_0" in seen["ARGS"]
        assert seen["PATH0"] == "/home/ma-user/modelarts/user-job-dir/code"
    again = jumar("cloud", "pull", "first", "-o", "out", "--json")
    assert json.loads(again.out)["rows"][0]["files"] == 0
    rows = json.loads(jumar("cloud", "ls-jobs", "--json").out)["rows"]
    assert [(row["name"], row["phase"]) for row in rows] == [("first", "Completed")]
    assert "[ModelArts Service Log]" in jumar("cloud", "logs", "--all").out
    assert "[ModelArts Service Log]" not in jumar("cloud", "logs").out


def test_the_first_failure_ends_all_and_is_the_result(jumar: Jumar, project: Path) -> None:
    started = time.monotonic()
    done = jumar(*SUBMIT, "--devices", "2", "--param", "fail=1", "--follow")
    assert done.code == 7
    assert time.monotonic() - started < 50
    assert "Failed" in done.err
    assert "rank 1 ended with exit code 7" in jumar("cloud", "logs", "--all").out


def test_stop(jumar: Jumar, project: Path) -> None:
    (project / "code" / "train.py").write_text("import time\nprint('up', flush=True)\ntime.sleep(60)\n")
    assert jumar(*SUBMIT).code == 0
    jobs_ = Jobs(Path(os.environ["JUMAR_CLOUD_HOME"]))
    id_ = jobs_.all()[0].id
    while "up" not in jumar("cloud", "logs").out:
        time.sleep(0.1)
    assert "a running job cannot be deleted" in jumar("cloud", "rm-job").err
    assert jumar("cloud", "stop").code == 0
    assert jumar("cloud", "logs", "-f").code == 143
    assert jobs_.get(id_).state is State.TERMINATED
    done = jumar("cloud", "stop", id_)
    assert done.code == 2
    assert "the job has ended already: Terminated" in done.err
    assert jumar("cloud", "rm-job", id_, "--json").out.count(id_) == 1


V1 = program_text(__file__, "moxing_job")


def test_the_old_contract_with_moxing(jumar: Jumar, project: Path) -> None:
    (project / "code" / "train.py").write_text(V1)
    done = jumar(*SUBMIT, "--contract", "v1", "--follow")
    assert done.code == 0, done.out + done.err
    assert "warning" not in done.err
    jumar("cloud", "pull", "-o", "out")
    assert Path("out/result.txt").read_text() == "ALPHA"


def test_moxing_is_not_there_outside_jobs() -> None:
    with pytest.raises(ImportError):
        __import__("moxing")


@pytest.mark.parametrize("contract_", ["v1", "v2"])
def test_results_that_nobody_uploads_are_named(jumar: Jumar, project: Path, contract_: str) -> None:
    (project / "code" / "train.py").write_text(
        "import os\nos.makedirs('ckpt')\nfor n in 'ab':\n    open(f'ckpt/{n}.ckpt', 'w').write('x')\n"
    )
    done = jumar(*SUBMIT, "--contract", contract_, "--follow")
    assert done.code == 0
    assert "warning: the job wrote 2 files, such as /home/" in done.err
    assert "/workspace/device0/ckpt/a.ckpt, and none to its outputs: nothing was uploaded" in done.err
    assert "jumar cloud adapt" in done.err
    (project / "code" / "train.py").write_text("print('nothing to keep')\n")
    assert "warning" not in jumar(*SUBMIT, "--contract", contract_, "--follow").err


def test_everything_can_stand_in_jumar_toml(jumar: Jumar, project: Path, trusted: Callable[[Path], None]) -> None:
    (project / "jumar.toml").write_text(
        '[cloud]\ncode = "code"\nboot = "train.py"\ndata = ["data"]\ndevices = 2\nbucket = "own-bucket"\nprice = 2.5\n'
    )
    trusted(project)
    done = jumar("cloud", "plan", "--json")
    assert done.code == 0, done.err
    row = json.loads(done.out)["rows"][0]
    assert row["body"]["algorithm"]["code_dir"] == "/own-bucket/code/code/code/"
    assert row["body"]["spec"]["resource"]["flavor_id"] == "modelarts.kat1.2xlarge"
    assert row["body"]["spec"]["auto_stop"] == {"time_unit": "HOURS", "duration": 4}
    assert row["cost"] == 10.0
    assert [one["files"] for one in row["uploads"]] == [1, 1]
    plain = jumar("cloud", "plan")
    assert "costs at most 10.00" in plain.out
    assert "make the bucket own-bucket" in plain.out
    assert not Path(os.environ["JUMAR_CLOUD_HOME"]).exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--code", "none", "--boot", "train.py"), "no such code folder: `none`"),
        (("--code", "code", "--boot", "trian.py"), "the boot file is missing"),
        (("--code", "code"), "missing `--boot`"),
        (("--code", "code", "--boot", "train.py", "--devices", "3"), "no flavour has 3 devices"),
        (("--code", "code", "--boot", "train.py", "--engine", "mindspore_9"), "no such engine: `mindspore_9`"),
        (("--code", "code", "--boot", "train.py", "--flavor", "big"), "no such flavour: `big`"),
        (("--code", "code", "--boot", "train.py", "--data", "gone"), "no such folder: `gone`"),
        (("--code", "code", "--boot", "train.py", "--data", "obs://gone-1/x/"), "`gone-1`: no such bucket"),
        (
            ("--code", "code", "--boot", "train.py", "--data", "data", "--data", "data"),
            "two inputs are called `data_url`",
        ),
        (("--code", "code", "--boot", "train.py", "--param", "x"), "is not NAME=VALUE"),
        (("--code", "code", "--boot", "train.py", "--name", "a b"), "not a job name: `a b`"),
        (("--code", "code", "--boot", "train.py", "--env", "MA_X=1"), "must not begin with MA_"),
    ],
)
def test_bad_jobs_are_refused_in_one_line(jumar: Jumar, project: Path, words: tuple[str, ...], message: str) -> None:
    done = jumar("cloud", "submit", *words)
    assert done.code == 2
    assert message in done.err.splitlines()[0]
    assert not list(Path(os.environ["JUMAR_CLOUD_HOME"]).glob("jobs/*"))


def test_a_large_code_folder_is_refused(jumar: Jumar, project: Path) -> None:
    with open(project / "code" / "weights.bin", "wb") as file:
        file.truncate(200 << 20)
    done = jumar(*SUBMIT)
    assert done.code == 2
    assert "the code folder is too large: 210 MB in 2 files" in done.err
    (project / "code" / ".jumarignore").write_text("*.bin\n")
    assert jumar("cloud", "plan", *SUBMIT[2:]).code == 0


def test_keys_in_the_code_are_found_and_not_shown(jumar: Jumar, project: Path) -> None:
    (project / "code" / "conf.py").write_text("x = 1\nSECRET_KEY = 'abcdEFGH12345678ijkl'\n")
    done = jumar("cloud", "plan", *SUBMIT[2:])
    assert done.code == 1
    assert "conf.py:2: a key or password in a literal" in done.out
    refused = jumar(*SUBMIT)
    assert refused.code == 2
    assert "conf.py:2" in refused.err
    assert "abcdEFGH" not in refused.err + done.out + done.err
    store = Path(os.environ["JUMAR_CLOUD_HOME"]) / "store"
    assert not list(store.rglob("conf.py"))
    assert secrets.scan([("a", "/does/not/exist")]) == []


LEAVES_ITS_GROUP = program_text(__file__, "leaves_its_group")


def _up(jumar: Jumar) -> str:
    while "up" not in (said := jumar("cloud", "logs").out):
        time.sleep(0.1)
    return str(said)


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_killed_runner_takes_its_processes_with_it(jumar: Jumar, project: Path) -> None:
    """Also those that left their process group; `stop` then says so once, and the job can be removed."""
    import signal

    (project / "code" / "train.py").write_text(LEAVES_ITS_GROUP)
    jumar(*SUBMIT, "--devices", "2")
    _up(jumar)
    home = Jobs(Path(os.environ["JUMAR_CLOUD_HOME"]))
    id_ = home.all()[0].id
    mark = "=".join(contract.mark(id_))
    _until(lambda: len(watchdog.members(mark)) == 4)
    os.kill(home._pid(id_), signal.SIGKILL)
    _until(lambda: not watchdog.members(mark))
    _until(lambda: home.get(id_).lost)
    assert jumar("cloud", "stop").code == 0
    again = jumar("cloud", "stop")
    assert again.code == 2 and "has ended already: Abnormal" in again.err
    assert home.get(id_).lost, "it is still known why"
    assert jumar("cloud", "rm-job").code == 0
    assert home.all() == []
    assert "no such job" in jumar("cloud", "rm-job", id_).err


def test_stop_ends_a_job_whose_watchdog_was_killed_too(jumar: Jumar, project: Path) -> None:
    import signal

    (project / "code" / "train.py").write_text(LEAVES_ITS_GROUP)
    jumar(*SUBMIT)
    _up(jumar)
    home = Jobs(Path(os.environ["JUMAR_CLOUD_HOME"]))
    id_ = home.all()[0].id
    mark = "=".join(contract.mark(id_))
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if mark.encode() in path.read_bytes():
                os.kill(int(path.parent.name), signal.SIGKILL)
    os.kill(home._pid(id_), signal.SIGKILL)
    _until(lambda: home.get(id_).lost)
    assert watchdog.members(mark)
    assert jumar("cloud", "stop").code == 0
    assert not watchdog.members(mark)


@pytest.mark.slow
def test_stop_ends_a_job_at_any_moment(jumar: Jumar, project: Path) -> None:
    """Also before its runner listens, and again while it is being ended."""
    (project / "code" / "train.py").write_text(
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up', flush=True)\ntime.sleep(60)\n"
    )
    home = Jobs(Path(os.environ["JUMAR_CLOUD_HOME"]))
    jumar(*SUBMIT)
    assert jumar("cloud", "stop").code == 0
    _until(lambda: home.all()[0].state is State.TERMINATED)
    jumar(*SUBMIT, "--name", "deaf")
    _up(jumar)
    assert jumar("cloud", "stop").code == 0
    assert jumar("cloud", "stop").code == 0, "a second time while it ends"
    _until(lambda: home.all()[0].state is State.TERMINATED)
    assert home.all()[0].exit_code == 143
    assert not watchdog.members("=".join(contract.mark(home.all()[0].id)))


def test_a_killed_runner_is_not_reported_as_running(jumar: Jumar, project: Path) -> None:
    import signal

    (project / "code" / "train.py").write_text("import time\nprint('up', flush=True)\ntime.sleep(30)\n")
    jumar(*SUBMIT)
    while "up" not in jumar("cloud", "logs").out:
        time.sleep(0.1)
    home = Jobs(Path(os.environ["JUMAR_CLOUD_HOME"]))
    record = home.all()[0]
    import subprocess

    children = subprocess.run(["pgrep", "-P", str(home._pid(record.id))], capture_output=True, text=True, check=True)
    os.kill(home._pid(record.id), signal.SIGKILL)
    for child in children.stdout.split():
        os.kill(int(child), signal.SIGKILL)
    while home.get(record.id).state is State.RUNNING:
        time.sleep(0.05)
    assert home.get(record.id).state is State.ABNORMAL
    assert jumar("cloud", "logs", "-f").code == 1


NODES = program_text(__file__, "node_of_a_job")


def test_several_nodes(jumar: Jumar, project: Path) -> None:
    (project / "code" / "train.py").write_text(NODES)
    done = jumar(*SUBMIT, "--devices", "2", "--nodes", "2", "--follow")
    assert done.code == 0, done.out + done.err
    for rank in range(4):
        node, device = divmod(rank, 2)
        said = f"[rank {rank}] {node} 2 2 {rank} 4 {device} 127.0.0.{1 + node} [['0', '1'], ['2', '3']]"
        assert f"{said} ['127.0.0.1', '127.0.0.2'] False" in done.out
    assert jumar("cloud", "pull", "--last", "-o", "out").code == 0
    assert sorted(path.name for path in Path("out").iterdir()) == ["0", "1", "2", "3"]
    (project / "code" / "train.py").write_text(
        "import os, sys, time\nsys.exit(3) if os.environ['RANK_ID'] == '1' else time.sleep(60)\n"
    )
    assert jumar(*SUBMIT, "--nodes", "2", "--follow").code == 3


def test_rank_table_follows_the_pods() -> None:
    """davincirun sorts instances by pod before it numbers ranks."""
    table = {"group_list": [{"instance_list": [
        {"pod_name": "job-1", "server_id": "b", "devices": [{"device_id": "0", "device_ip": "2"}]},
        {"pod_name": "job-0", "server_id": "a", "devices": [{"device_id": "0", "device_ip": "1"}]}]}]}  # fmt: skip
    made = contract.rank_table(table)
    assert [(server["server_id"], server["device"][0]["rank_id"]) for server in made["server_list"]] == [
        ("a", "0"),
        ("b", "1"),
    ]


def test_only_the_new_part_of_a_log_is_shown() -> None:
    assert LogEnd("abc", 3).after(0) == "abc"
    assert LogEnd("abcde", 5).after(3) == "de"
    assert LogEnd("de", 5).after(3) == "de"
    assert LogEnd("de", 5).after(5) == ""


def test_mistakes_in_jumar_toml_are_named(jumar: Jumar, project: Path) -> None:
    for text, message in (
        ("buckt = 'x'", "unknown key `buckt`"),
        ("devices = '2'", "`devices` in `[cloud]` is not a number"),
        ("[cloud.targets.a]\nregio = 'x'", "unknown key `regio`"),
    ):
        (project / "jumar.toml").write_text(f"[cloud]\n{text}\n")
        done = jumar("cloud", "plan", "--target", "a" if "regio" in text else "local")
        assert done.code == 2
        assert message in done.err


@pytest.mark.slow
def test_a_torch_job_runs_on_emulated_npus(jumar: Jumar, project: Path) -> None:
    pytest.importorskip("torch_npu", reason="the emulator needs the real torch_npu wheel")
    (project / "code" / "train.py").write_text("import torch\nprint(torch.ones(2, 3).npu().sum().device)\n")
    done = jumar(*SUBMIT, "--devices", "2", "--follow")
    assert done.code == 0, done.out + done.err
    assert "[rank 0] npu:0" in done.out
    assert "[rank 1] npu:0" in done.out
