"""The loopback ModelArts, judged by Huawei's own unmodified SDK; our REST client against the same server."""

from __future__ import annotations

import re
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jumar.cloud import modelarts_v2, signing
from jumar.cloud.credentials import Credentials
from jumar.cloud.job import State
from jumar.cloud.rest import Rest
from jumar.cloud.standin import service
from jumar.core.errors import UserError
from jumar.tables.load import table

sdk: Any = pytest.importorskip("huaweicloudsdkmodelarts.v1", reason="huaweicloudsdkmodelarts is the official client")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    code = tmp_path / "home" / "store" / "bucket-1" / "code"
    code.mkdir(parents=True)
    (code / "train.py").write_text("print('trained')\n")
    (tmp_path / "home" / "store" / "bucket-1" / "out").mkdir()
    return tmp_path / "home"


@pytest.fixture
def running(home: Path) -> Iterator[service.Service]:
    started = service.start(home)
    yield started
    started.close()


@pytest.fixture
def client(running: service.Service, home: Path) -> Callable[..., Any]:
    from huaweicloudsdkcore.auth.credentials import BasicCredentials

    access, secret = next(iter(service.keys(home).items()))

    def make(other: str = "") -> Any:
        pair = BasicCredentials(access, other or secret, service.PROJECT)
        builder = sdk.ModelArtsClient.new_builder().with_credentials(pair)
        return builder.with_endpoint(f"http://127.0.0.1:{running.modelarts.port}").build()

    return make


def _body() -> Any:
    remote = sdk.RemoteObs(obs_url="/bucket-1/out/")
    return sdk.CreateTrainingJobRequest(body=sdk.Job(
        kind="job",
        metadata=sdk.JobMetadata(name="from-the-sdk", description="x"),
        algorithm=sdk.JobAlgorithm(
            code_dir="/bucket-1/code/", boot_file="/bucket-1/code/train.py",
            engine=sdk.JobEngine(engine_name="Ascend-Powered-Engine",
                                 engine_version="mindspore_1.7.0-cann_5.1.0-py_3.7-euler_2.8.3-aarch64"),
            outputs=[sdk.Output(name="train_url", access_method="parameter", remote=sdk.Remote(obs=remote))]),
        spec=sdk.Spec(resource=sdk.SpecResource(flavor_id="modelarts.kat1.xlarge", node_count=1))))  # fmt: skip


def test_the_official_sdk_runs_a_job(client: Callable[..., Any], home: Path) -> None:
    api = client()
    assert {row.flavor_id for row in api.show_training_job_flavors(sdk.ShowTrainingJobFlavorsRequest()).flavors} >= {
        "modelarts.kat1.xlarge"}  # fmt: skip
    engines = api.show_training_job_engines(sdk.ShowTrainingJobEnginesRequest())
    assert any(row.v1_compatible for row in engines.items)
    made = api.create_training_job(_body())
    assert made.status_code == 201
    id_ = made.metadata.id
    assert made.status.phase in ("Creating", "Pending", "Running")
    phases = []
    while not phases or phases[-1] not in ("Completed", "Failed", "Terminated", "Abnormal"):
        phases.append(api.show_training_job_details(sdk.ShowTrainingJobDetailsRequest(id_)).status.phase)
        time.sleep(0.05)
    assert phases[-1] == "Completed"
    preview = api.show_training_job_logs_preview(sdk.ShowTrainingJobLogsPreviewRequest(id_, "worker-0"))
    assert "trained" in preview.content
    assert preview.full_size == preview.current_size == len(preview.content)
    listed = api.list_training_jobs(sdk.ListTrainingJobsRequest(sdk.JobSearches(limit=10)))
    assert [item.metadata.name for item in listed.items] == ["from-the-sdk"]
    events = api.list_training_job_events(sdk.ListTrainingJobEventsRequest(id_))
    assert any("Completed" in event.message for event in events.events)
    assert api.delete_training_job(sdk.DeleteTrainingJobRequest(id_)).status_code == 202
    assert not list((home / "jobs").iterdir())


def test_the_official_sdk_stops_a_job(client: Callable[..., Any], home: Path) -> None:
    (home / "store" / "bucket-1" / "code" / "train.py").write_text("import time\ntime.sleep(60)\n")
    api = client()
    id_ = api.create_training_job(_body()).metadata.id
    while api.show_training_job_details(sdk.ShowTrainingJobDetailsRequest(id_)).status.phase != "Running":
        time.sleep(0.05)
    action = sdk.JobActionType(action_type="terminate")
    assert api.stop_training_job(sdk.StopTrainingJobRequest(id_, action)).status_code == 202
    while (phase := api.show_training_job_details(sdk.ShowTrainingJobDetailsRequest(id_)).status.phase) != "Terminated":
        assert phase in ("Terminating", "Running")
        time.sleep(0.05)


def test_the_official_sdk_with_a_wrong_secret_is_refused(client: Callable[..., Any]) -> None:
    from huaweicloudsdkcore.exceptions.exceptions import ClientRequestException

    with pytest.raises(ClientRequestException) as caught:
        client("wrong").show_training_job_flavors(sdk.ShowTrainingJobFlavorsRequest())
    assert caught.value.status_code == 401


def test_the_official_sdk_sees_the_platforms_refusals(client: Callable[..., Any]) -> None:
    from huaweicloudsdkcore.exceptions.exceptions import ClientRequestException

    request = _body()
    request.body.spec.resource.flavor_id = "none"
    with pytest.raises(ClientRequestException, match="no such flavor"):
        client().create_training_job(request)
    for id_ in ("../../etc", "0" * 36):
        with pytest.raises(ClientRequestException) as caught:
            client().show_training_job_details(sdk.ShowTrainingJobDetailsRequest(id_))
        assert caught.value.status_code == 404


ANSWERED = {
    "create_training_job", "delete_training_job", "list_training_job_events", "list_training_jobs",
    "show_training_job_details", "show_training_job_engines", "show_training_job_flavors",
    "show_training_job_logs_preview", "stop_training_job",
}  # fmt: skip


def test_every_training_call_of_the_sdk_is_answered_or_refused_by_name(running: service.Service, home: Path) -> None:
    import inspect

    calls = {row["name"]: row for row in table("modelarts_calls.json")["calls"]}
    assert {name for name in dir(sdk.ModelArtsClient) if "training_job" in name and not name.startswith("_")} - {
        name for name in dir(sdk.ModelArtsClient) if name.endswith("_invoker")
    } <= set(calls), "run tools/refresh_modelarts_calls.py"
    source = inspect.getsource(sdk.ModelArtsClient)
    access, secret = next(iter(service.keys(home).items()))
    host = f"127.0.0.1:{running.modelarts.port}"
    rest = Rest(f"http://{host}", service.PROJECT, Credentials(access, secret, host))
    refused = set()
    for name, row in calls.items():
        assert f'"resource_path": "/v2/{{project_id}}/{row["path"]}"' in source
        path, body = re.sub(r"\{\w+\}", "0" * 36, row["path"]), {} if row["method"] != "GET" else None
        try:
            rest._call(row["method"], path, body)
        except UserError as error:
            assert "APIGW.0101" not in str(error), name
            if "Jumar.NotImplemented" in str(error):
                assert f"`{name}` is not part of the stand-in" in str(error)
                refused.add(name)
    assert set(calls) - refused == ANSWERED


def test_our_client_speaks_to_the_same_server(running: service.Service, home: Path) -> None:
    host = f"127.0.0.1:{running.modelarts.port}"
    endpoint = f"http://{host}"
    access, secret = next(iter(service.keys(home).items()))
    rest = Rest(endpoint, service.PROJECT, Credentials(access, secret, host))
    assert rest.list() == []
    assert [flavor.devices for flavor in rest.flavors()] == [1, 2, 4, 8]
    made = rest.submit(modelarts_v2.decode_spec(_body().body.to_dict()))
    id_ = made.id
    while not rest.get(id_).state.ended:
        time.sleep(0.05)
    assert rest.get(id_).state is State.COMPLETED
    assert "trained" in rest.logs(id_).text
    url = rest._call("GET", f"training-jobs/{id_}/tasks/worker-0/logs/url")["obs_url"]
    with urllib.request.urlopen(url) as answer:
        assert b"trained" in answer.read()
    with pytest.raises(UserError, match="ModelArts refuses the request"):
        rest.stop(id_)
    with pytest.raises(UserError, match=r"APIGW\.0301") as caught:
        Rest(endpoint, service.PROJECT, Credentials(access, "SECRETWORD", host)).list()
    assert "SECRETWORD" not in str(caught.value)
    with pytest.raises(UserError, match="no project id"):
        Rest(endpoint, "", None)


def test_our_signature_is_the_official_signers() -> None:
    from huaweicloudsdkcore.auth.credentials import BasicCredentials
    from huaweicloudsdkcore.sdk_request import SdkRequest
    from huaweicloudsdkcore.signer.signer import Signer

    for method, path, query, body in [("GET", "/v2/p/x", [], ""), ("POST", "/v2/p/x", [], '{"a": 1}'),
                                      ("GET", "/v2/p/é b", [("limit", "10"), ("a b", "c/d")], "")]:  # fmt: skip
        request = SdkRequest(method=method, schema="https", host="h.example.com", resource_path=path, uri=path,
                             query_params=list(query), header_params={"Content-Type": "application/json"}, body=body,
                             stream=False, signing_algorithm=None)  # fmt: skip
        signed = Signer(BasicCredentials("AK", "SK", "p")).sign(request).header_params
        headers = {name.lower(): value for name, value in signed.items()}
        assert signing.verify({"AK": "SK"}, method, path, query, headers, body.encode())
        assert not signing.verify({"AK": "other"}, method, path, query, headers, body.encode())
        assert not signing.verify({"AK": "SK"}, method, path + "x", query, headers, body.encode())


def test_the_generated_keys_are_private(home: Path) -> None:
    service.keys(home)
    assert (home / "keys.json").stat().st_mode & 0o777 == 0o600
    assert service.keys(home) == service.keys(home)
