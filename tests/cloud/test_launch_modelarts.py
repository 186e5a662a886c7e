"""`jumar launch --on modelarts` is `jumar cloud submit` in the words of `jumar launch`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from jumar.cloud import jobs
from jumar.cloud.job import Flavor
from jumar.cloud.standin.local import Local

Jumar = Callable[..., Any]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = tmp_path / "project"
    (top / "code" / "src").mkdir(parents=True)
    (top / "data").mkdir()
    (top / "code" / "src" / "train.py").write_text("import os, sys\nprint(os.environ['RANK_SIZE'], sys.argv[1:3])\n")
    (top / "data" / "a.txt").write_text("alpha")
    monkeypatch.chdir(top)
    return top


LAUNCH = ("launch", "--on", "modelarts", "--set", "code=code", "--set", "data=data")
SCRIPT = ("code/src/train.py", "--lr", "0.1", "--name=two words")


def test_print_shows_the_whole_request(jumar: Jumar, project: Path, golden: Callable[[str, str], None]) -> None:
    done = jumar(*LAUNCH, "--cards", "8", "--name", "bert", "--set", "auto_stop=2", "--print", *SCRIPT)
    assert done.code == 0, done.err
    golden("launch/modelarts.txt", done.out)
    same = jumar("cloud", "plan", "--code", "code", "--boot", "src/train.py", "--data", "data", "--devices", "8",
                 "--name", "bert", "--auto-stop", "2", "--param", "lr=0.1", "--param", "name=two words")  # fmt: skip
    assert same.out == done.out
    assert not Path(os.environ["JUMAR_CLOUD_HOME"]).exists()


def test_the_job_runs_and_can_be_asked_for(jumar: Jumar, project: Path) -> None:
    done = jumar(*LAUNCH, "--cards", "2", *SCRIPT)
    assert done.code == 0, done.err
    id_ = done.out.strip()
    assert jumar("cloud", "logs", "-f").code == 0
    assert jumar("launch", "--on", "modelarts", "--status", id_).out == "Completed\n"
    log = jumar("launch", "--on", "modelarts", "--log", id_).out
    assert "[rank 1] 2 ['--lr=0.1', '--name=two words']" in log
    ended = jumar("launch", "--on", "modelarts", "--cancel", id_)
    assert ended.code == 2
    assert "has ended already" in ended.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--cards", "0,1", *SCRIPT), "the platform chooses the cards"),
        (("--nodes", "host1,host2", *SCRIPT), "takes a number of machines"),
        (("--nodes", "9", *SCRIPT), "at most 8 nodes, not 9"),
        (("--cards", "3", *SCRIPT), "no flavour has 3 devices"),
        (("--set", "bukcet=x", *SCRIPT), "did you mean `bucket`"),
        (("--set", "contract=v3", *SCRIPT), "`v1` or `v2`"),
        (("--set", "auto_stop=soon", *SCRIPT), "is not a number of hours"),
        (("code/src/train.py", "--amp", "--lr", "1"), "ModelArts cannot pass `--amp`"),
        (("code/src/train.py", "fast"), "ModelArts cannot pass `fast`"),
        (("-m", "train"), "not `-m`"),
        (("data/a.py",), "not in the code folder"),
        ((), "missing `--boot`"),
    ],
)
def test_what_the_platform_cannot_do_is_said(jumar: Jumar, project: Path, words: Any, message: str) -> None:
    done = jumar(*LAUNCH, *words)
    assert done.code == 2
    assert message in done.err
    assert not list(Path(os.environ["JUMAR_CLOUD_HOME"]).rglob("a.txt"))


def test_more_nodes_go_into_the_request(jumar: Jumar, project: Path) -> None:
    class Large(Local):
        def flavors(self) -> Sequence[Flavor]:
            return (Flavor("f", 8, 16),)

    from jumar.cloud.store.folder import FolderStore

    store = FolderStore(project / "store")
    store.make_bucket("b-1")
    wish = jobs.JobRequest(project / "code", "src/train.py", devices=8, nodes=4, bucket="b-1", price=10.0, hours=2)
    plan = jobs.build(wish, store, Large(project / "home"))
    assert (plan.spec.flavor, plan.spec.nodes, plan.devices) == ("f", 4, 8)
    assert plan.request["spec"]["resource"] == {"flavor_id": "f", "node_count": 4}
    assert plan.cost == 80
    assert json.dumps(plan.request)
