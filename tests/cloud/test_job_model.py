"""The typed job model: both dialects of ModelArts lead to it and back, and building a request changes nothing."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumar.cloud import jobs, modelarts_v1, modelarts_v2
from jumar.cloud.address import Remote
from jumar.cloud.job import Access, Channel, Engine, Fault, Flavor, Job, JobSpec, LogEnd, Platform, Refused, State
from jumar.cloud.rest import Rest
from jumar.cloud.rest_v1 import RestV1
from jumar.cloud.standin import refuse
from jumar.cloud.standin.jobs import Jobs
from jumar.cloud.standin.local import Local
from jumar.cloud.store.folder import FolderStore

Jumar = Callable[..., Any]
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,10}", fullmatch=True)
PLACES = st.builds(
    Remote,
    st.just("obs"),
    st.from_regex(r"[a-z0-9]{3,12}", fullmatch=True),
    st.from_regex(r"([a-z0-9_. -]{1,8}/){1,3}", fullmatch=True),
)
CHANNELS = st.lists(st.builds(Channel, NAMES, PLACES, st.sampled_from(Access), TEXTS), max_size=3).map(tuple)
PAIRS = st.dictionaries(NAMES, TEXTS, max_size=3).map(lambda found: tuple(found.items()))
SPECS = st.builds(
    JobSpec,
    name=NAMES,
    code=PLACES,
    boot=st.from_regex(r"([a-z]{1,5}/)?[a-z]{1,8}\.py", fullmatch=True),
    engine=NAMES,
    flavor=NAMES,
    nodes=st.integers(1, 64),
    parameters=PAIRS,
    inputs=CHANNELS,
    outputs=CHANNELS,
    environment=PAIRS,
    log=st.none() | PLACES,
    hours=st.none() | st.integers(1, 500).map(float) | st.sampled_from([0.5, 1.25]),
    description=TEXTS,
    workspace=NAMES,
)
FLAVOR = Flavor("flavor", 8, 4, 192, 768)
CALM = settings(max_examples=40, deadline=None)


@CALM
@given(SPECS)
def test_a_request_of_version_2_can_be_read_again(spec: JobSpec) -> None:
    assert modelarts_v2.decode_spec(json.loads(json.dumps(modelarts_v2.encode_spec(spec)))) == spec


@CALM
@given(
    SPECS, st.sampled_from([state for state in State if state is not State.UNKNOWN]), st.booleans(), st.integers(0, 9)
)
def test_a_job_of_version_2_can_be_read_again(spec: JobSpec, state: State, lost: bool, number: int) -> None:
    job = Job("id", spec, state, lost, 5, number, number, number or None, FLAVOR.devices, ("worker-0", "worker-1"))
    answer = json.loads(json.dumps(modelarts_v2.encode_job(job, FLAVOR, "me")))
    assert modelarts_v2.decode_job(answer) == job


@CALM
@given(SPECS)
def test_a_job_of_version_1_can_be_read_again(spec: JobSpec) -> None:
    """The platform shows the fields of the request beside the job's number; flavour and engine stay numbers."""
    asked = spec._replace(
        environment=(), inputs=spec.inputs[:1], outputs=(Channel("train_url", Remote("obs", "b-1", "out/")),)
    )
    asked = asked._replace(inputs=tuple(Channel("data_url", one.place) for one in asked.inputs))
    body = json.loads(json.dumps(modelarts_v1.encode_spec(asked, Flavor("f", 8, number=7), Engine("e", True, 3))))
    assert (body["config"]["spec_id"], body["config"]["engine_id"]) == (7, 3)
    shown = {"job_id": 10, "version_id": 12, "status": "10", "duration": 9, **body, **body.pop("config")}
    job = modelarts_v1.decode_job(shown)
    assert (job.id, job.state, job.duration) == ("10-12", State.COMPLETED, 9)
    assert job.spec == asked._replace(engine="", flavor="", hours=None, workspace="0")


@CALM
@given(st.lists(st.builds(Flavor, NAMES, *[st.integers(0, 999)] * 4, number=st.none()), max_size=3))
def test_flavours_can_be_read_again(flavors: list[Flavor]) -> None:
    assert modelarts_v2.decode_flavors(modelarts_v2.encode_flavors(flavors)) == flavors


@CALM
@given(st.lists(st.builds(Engine, NAMES, st.booleans(), st.none()), max_size=3), TEXTS, st.integers(0, 99))
def test_engines_and_logs_can_be_read_again(engines: list[Engine], text: str, more: int) -> None:
    assert modelarts_v2.decode_engines(modelarts_v2.encode_engines(engines)) == engines
    end = LogEnd(text, len(text.encode()) + more)
    assert modelarts_v2.decode_log(modelarts_v2.encode_log(end)) == end


def test_the_models_of_the_official_sdk_are_read() -> None:
    sdk: Any = pytest.importorskip("huaweicloudsdkmodelarts.v1", reason="huaweicloudsdkmodelarts has the model classes")
    body = sdk.Job(
        kind="job",
        metadata=sdk.JobMetadata(name="sdk", description="d", workspace_id="w"),
        algorithm=sdk.JobAlgorithm(
            code_dir="/b-1/code", boot_file="/b-1/code/src/train.py",
            engine=sdk.JobEngine(engine_id="e"),
            parameters=[sdk.Parameters(name="lr", value="0.1")],
            inputs=[sdk.Input(name="data_url", access_method="env",
                              remote=sdk.InputDataInfo(obs=sdk.InputDataInfoObs(obs_url="/b-1/data/")))],
            outputs=[sdk.Output(name="train_url", remote=sdk.Remote(obs=sdk.RemoteObs(obs_url="/b-1/out/")))],
            environments={"A": "1"}),
        spec=sdk.Spec(resource=sdk.SpecResource(flavor_id="f", node_count=2),
                      auto_stop=sdk.AutoStop(time_unit="HOURS", duration=3),
                      log_export_path=sdk.LogExportPath(obs_url="/b-1/log/")))  # fmt: skip
    found = modelarts_v2.decode_spec(body.to_dict())
    assert found == JobSpec(
        "sdk", Remote("obs", "b-1", "code"), "src/train.py", "e", "f", 2, (("lr", "0.1"),),
        (Channel("data_url", Remote("obs", "b-1", "data/"), Access.ENV),),
        (Channel("train_url", Remote("obs", "b-1", "out/")),),
        (("A", "1"),), Remote("obs", "b-1", "log/"), 3, "d", "w",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("body", "fault", "said"),
    [
        ([], Fault.BAD_REQUEST, "`the body` is not an object"),
        ({"metadata": {"name": ["a"]}}, Fault.BAD_REQUEST, "`metadata.name` is not a string"),
        ({"algorithm": {"inputs": {"a": 1}}}, Fault.BAD_REQUEST, "`algorithm.inputs` is not a list"),
        ({"algorithm": {"inputs": [{"name": "a"}]}}, Fault.BAD_REQUEST, "has no `remote.obs.obs_url`"),
        ({"algorithm": {"code_dir": "code/"}}, Fault.BAD_REQUEST, "`code_dir` is not `/bucket/folder/`"),
        ({"algorithm": {"code_dir": "/B_/x/"}}, Fault.BAD_REQUEST, "not a bucket name"),
        ({"spec": {"resource": {"node_count": "two"}}}, Fault.BAD_REQUEST, "`node_count` is not a whole number"),
        ({"spec": {"auto_stop": {"duration": "3"}}}, Fault.BAD_REQUEST, "`spec.auto_stop`"),
        (
            {"algorithm": {"code_dir": "/b-1/code", "boot_file": "/b-1/code2/train.py"}},
            Fault.NO_ALGORITHM,
            "not in the code folder",
        ),
    ],
)
def test_a_malformed_request_names_the_field(body: Any, fault: Fault, said: str) -> None:
    with pytest.raises(Refused) as caught:
        modelarts_v2.decode_spec(body)
    assert caught.value.fault is fault
    assert said in caught.value.message


def test_a_state_of_tomorrow_does_not_end_a_job() -> None:
    found = modelarts_v2.decode_job({"metadata": {"id": "1"}, "status": {"phase": "Hibernating"}})
    assert found.state is State.UNKNOWN and not found.state.ended


def test_all_platforms_are_one_type(tmp_path: Path) -> None:
    platforms: list[Platform] = [Local(tmp_path), Rest("http://h", "p", None), RestV1("http://h", "p", None)]
    assert [platform.stops_jobs for platform in platforms] == [True, True, False]


def test_the_fields_of_modelarts_are_named_at_the_edge_only() -> None:
    """A new place that reads `flavor_id` out of a dictionary is a second edge."""
    fields = {"flavor_id", "boot_file", "code_dir", "obs_url", "secondary_phase", "app_url", "node_count"}
    top = Path(jobs.__file__).parents[1]
    edge = {top / "cloud" / f"modelarts_{version}.py" for version in ("v1", "v2")}
    for path in [*(top / "cloud").rglob("*.py"), *(top / "cli").glob("*.py")]:
        words = {node.slice.value for node in ast.walk(ast.parse(path.read_bytes()))
                 if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)}  # fmt: skip
        assert path in edge or not words & fields, path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = tmp_path / "project"
    for name, text in (("code/train.py", "import torch\n"), ("data/a.txt", "alpha")):
        (top / name).parent.mkdir(parents=True)
        (top / name).write_text(text)
    monkeypatch.chdir(top)
    return top


def _everything(top: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        str(path): (path.lstat().st_mode, path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted(top.rglob("*"))
    }


@pytest.mark.parametrize("store_exists", [False, True])
def test_building_a_request_changes_nothing(jumar: Jumar, project: Path, tmp_path: Path, store_exists: bool) -> None:
    if store_exists:
        bucket = Path(os.environ["JUMAR_CLOUD_HOME"]) / "store" / "jumar-local"
        (bucket / "code" / "data" / "data").mkdir(parents=True)
        (bucket / "code" / "data" / "data" / "a.txt").write_text("alpha")
    before = _everything(tmp_path)
    plan = ("cloud", "plan", "--code", "code", "--boot", "train.py", "--data", "data", "--name", "same")
    first = jumar(*plan)
    assert first.code == 0, first.err
    assert jumar(*plan).out == first.out
    printed = jumar("launch", "--on", "modelarts", "--print", "--name", "same", "--set", "data=data", "code/train.py")
    assert printed.out == first.out
    assert _everything(tmp_path) == before


def test_what_is_planned_is_what_is_submitted(project: Path, tmp_path: Path) -> None:
    (project / "code" / "train.py").write_text("print(1)\n")
    store, platform = FolderStore(tmp_path / "home" / "store"), Local(tmp_path / "home")
    wish = jobs.JobRequest(project / "code", "train.py", ("data",), name="same", bucket="b-1", new_bucket=True)
    plan = jobs.build(wish, store, platform)
    before = _everything(tmp_path)
    assert jobs.build(wish, store, platform) == plan
    assert _everything(tmp_path) == before
    made = jobs.submit(plan, store, platform)
    assert platform.request(made.spec._replace(inputs=plan.spec.inputs, outputs=plan.spec.outputs)) == plan.request
    while not platform.get(made.id).state.ended:
        os.sched_yield()
    assert [job.id for job in platform.list()] == [made.id]
    platform.delete(made.id)
    assert platform.list() == []


GOOD = JobSpec(
    "name", Remote("obs", "b-1", "code/"), "train.py", "pytorch-on-emulated-npus", "modelarts.kat1.xlarge",
    parameters=(("lr", "1"),), inputs=(Channel("data_url", Remote("obs", "b-1", "data/")),), environment=(("A", "1"),),
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"name": "a b"}, Fault.BAD_NAME),
        ({"name": "x" * 65}, Fault.BAD_NAME),
        ({"description": "x" * 257}, Fault.BAD_REQUEST),
        ({"engine": "mindspore_99"}, Fault.NO_SUCH_ENGINE),
        ({"engine": ""}, Fault.NO_SUCH_ENGINE),
        ({"flavor": "large"}, Fault.NO_SUCH_FLAVOR),
        ({"nodes": 0}, Fault.NO_SUCH_FLAVOR),
        ({"code": None}, Fault.NO_ALGORITHM),
        ({"code": Remote("obs", "b-1", "x/../")}, Fault.NO_ALGORITHM),
        ({"boot": "../train.py"}, Fault.NO_ALGORITHM),
        ({"boot": "train.sh"}, Fault.NO_ALGORITHM),
        ({"parameters": (("", "1"),)}, Fault.BAD_REQUEST),
        ({"parameters": (("a", "\0"),)}, Fault.BAD_REQUEST),
        ({"inputs": (Channel("../../out", Remote("obs", "b-1", "x/")),)}, Fault.BAD_REQUEST),
        ({"outputs": (Channel("data_url", Remote("obs", "b-1", "x/")),)}, Fault.BAD_REQUEST),
        ({"environment": (("1A", "x"),)}, Fault.BAD_ENVIRONMENT),
        ({"environment": (("A", "x" * 4097),)}, Fault.BAD_ENVIRONMENT),
        ({"environment": (("MA_X", "1"),)}, Fault.BAD_ENVIRONMENT),
        ({"environment": (("A", "$HOME"),)}, Fault.BAD_ENVIRONMENT),
        ({"environment": tuple((f"A{number}", "") for number in range(101))}, Fault.BAD_ENVIRONMENT),
    ],
)
def test_what_the_platform_refuses_starts_nothing(tmp_path: Path, change: dict[str, Any], fault: Fault) -> None:
    refuse.check(GOOD)
    with pytest.raises(Refused) as caught:
        Jobs(tmp_path).create(GOOD._replace(**change))
    assert caught.value.fault is fault
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("asked", [{"limit": 51}, {"limit": -1}, {"offset": -1}, {"limit": "all"}])
def test_a_list_has_the_platforms_limits(asked: dict[str, Any]) -> None:
    assert modelarts_v2.decode_search({}) == (0, 50)
    with pytest.raises(Refused):
        modelarts_v2.decode_search(asked)
