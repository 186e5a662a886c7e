"""Version 1 of the training interface: our client against a server that answers as its documentation shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jumar.cloud import jobs, signing
from jumar.cloud.credentials import Credentials
from jumar.cloud.job import State
from jumar.cloud.rest_v1 import RestV1
from jumar.cloud.standin.http import Answer, Request, Server
from jumar.cloud.store.folder import FolderStore
from jumar.core.errors import UserError

ACCESS, SECRET = "OLDREGION", "secret-of-the-old-region"
JOB = {"job_id": 10, "version_id": 12, "job_name": "old", "status": 8, "train_url": "/b-1/code/old/output/"}
ANSWERS: dict[str, Any] = {
    "GET job/resource-specs": {"specs": [{"spec_id": 7, "spec_code": "modelarts.kat1.8xlarge", "max_num": 2}]},
    "GET job/ai-engines": {"engines": [{"engine_id": 3, "engine_version": "MindSpore-1.3.0-c78-python3.7"}]},
    "POST training-jobs": {"is_success": True, "job_id": "10", "status": "1", "version_id": "12"},
    "GET training-jobs": {"is_success": True, "job_total_count": 1, "jobs": [JOB]},
    "GET training-jobs/10/versions/12": {"is_success": True, **JOB},
    "GET training-jobs/10/versions/12/log/file-names": {"is_success": True, "log_file_list": ["old.0"]},
    "POST training-jobs/10/versions/12/stop": {
        "is_success": False,
        "error_code": "ModelArts.0105",
        "error_message": "no",
    },
}


@pytest.fixture
def region() -> Iterator[tuple[RestV1, list[tuple[str, Any]]]]:
    seen: list[tuple[str, Any]] = []

    def answer(request: Request) -> Answer:
        body = request.body.read()
        query = [(name, value or "") for name, value in request.query]
        keys = {ACCESS: SECRET}
        assert signing.verify(keys, request.method, request.raw_path, query, request.headers, body)
        what = f"{request.method} {request.path.removeprefix('/v1/project/')}"
        seen.append((what, json.loads(body) if body else dict(query)))
        if what.endswith("/aom-log"):
            base = int(dict(query)["base_line"] or 1200)
            first = max(base - 500, 0)
            text = "".join(f"line {number}\n" for number in range(first, base))
            found: Any = {"is_success": True, "content": text, "lines": str(base - first), "start_line": str(first)}
        else:
            found = ANSWERS[what]
        return Answer(200, {"Content-Type": "application/json"}, json.dumps(found).encode())

    server = Server(answer).start()
    host = f"127.0.0.1:{server.port}"
    yield RestV1(f"http://{host}", "project", Credentials(ACCESS, SECRET, host)), seen
    server.close()


def test_a_job_of_version_1(region: tuple[RestV1, list[tuple[str, Any]]], tmp_path: Path) -> None:
    platform, seen = region
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text("import mindspore")
    store = FolderStore(tmp_path / "store")
    for name in ("data", "more"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text("x")
    data = (str(tmp_path / "data"), f"extra={tmp_path / 'more'}")
    wish = jobs.JobRequest(
        tmp_path / "code", "train.py", data, 8, 2, "b-1", "old", ("lr=0.1",), v1=True, new_bucket=True
    )
    plan = jobs.build(wish._replace(price=3.0), store, platform)
    assert plan.cost is None, "nothing stops such a job"
    made = jobs.submit(plan, store, platform)
    assert made.id == "10-12" and made.state is State.RUNNING
    sent = next(body for what, body in seen if what == "POST training-jobs")
    assert sent == {
        "job_name": "old",
        "job_desc": "submitted by jumar",
        "config": {
            "worker_server_num": 2,
            "app_url": "/b-1/code/code/code/",
            "boot_file_url": "/b-1/code/code/code/train.py",
            "parameter": [{"label": "lr", "value": "0.1"}, {"label": "extra", "value": "s3://b-1/code/data/more/"}],
            "spec_id": 7,
            "engine_id": 3,
            "train_url": "/b-1/code/old/output/",
            "log_url": "/b-1/code/old/log/",
            "data_url": "/b-1/code/data/data/",
        },
    }
    assert [job.spec.name for job in platform.list()] == ["old"]
    assert made.spec.outputs[0].place.key == "code/old/output/"
    with pytest.raises(UserError, match=r"ModelArts refuses the request: ModelArts\.0105 no"):
        platform.stop("10-12")
    with pytest.raises(UserError, match="no such job: `abc`"):
        platform.get("abc")
    with pytest.raises(UserError, match="no environment variables"):
        jobs.build(wish._replace(environments=("A=1",)), store, platform)


def test_the_log_is_put_together_from_its_end(region: tuple[RestV1, list[tuple[str, Any]]]) -> None:
    platform, _ = region
    end = platform.logs("10-12")
    assert end.after(0).splitlines() == [f"line {number}" for number in range(1200)]
    assert end.size == len(end.text)
