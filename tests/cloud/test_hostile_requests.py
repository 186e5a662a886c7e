"""The loopback servers under requests that no client sends: refused, never an error of ours, never other bytes."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bad_requests
import pytest

from jumar.cloud import contract
from jumar.cloud.disk import Disk
from jumar.cloud.job import Job, JobSpec, State
from jumar.cloud.standin import refuse, signature
from jumar.cloud.standin.http import Server
from jumar.cloud.standin.jobs import Jobs
from jumar.cloud.standin.machine import PLAIN, Machine
from jumar.cloud.standin.modelarts_server import Server as ModelArts
from jumar.cloud.standin.obs_server import Store

SEEDS = range(4)
COUNT = 60
STEPS = 200
SECRETS = (b"PRIVATE BYTES", b"OUTSIDE BYTES", b"Traceback", b"root:")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Server]:
    root = tmp_path / "store"
    for folder, name, text in (("store/bucket-1", "secret", "shown"), ("store/other", "private", "PRIVATE BYTES"),
                               ("outside", "file", "OUTSIDE BYTES")):  # fmt: skip
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / name).write_text(text)
    (root / "bucket-1" / "link").symlink_to(tmp_path / "outside")
    (root / "bucket-1" / "outside").symlink_to(tmp_path / "outside" / "file")
    server = Server(Store(Disk(root), {"access": "secret"})).start()
    yield server
    server.close()


@pytest.mark.parametrize("is_signed", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_store_refuses_or_answers(
    store: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: int, is_signed: bool
) -> None:
    if is_signed:
        monkeypatch.setattr(signature, "check", lambda *_: signature.Signed("access", "UNSIGNED-PAYLOAD"))
    for request in bad_requests.storage(seed, COUNT):
        answer = bad_requests.ask(store.port, request)
        assert 200 <= answer.status < 500 or answer.status == 501, answer
        assert is_signed or answer.status >= 400 or b"apiversion" in request, answer
        assert not any(word in answer.body for word in SECRETS), answer
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outside", "store"]
    assert (tmp_path / "outside" / "file").read_text() == "OUTSIDE BYTES"
    assert (tmp_path / "store" / "other" / "private").exists() or is_signed


class Checked(Jobs):
    """Jobs that are checked as usual and not started."""

    def create(self, spec: JobSpec, machine: Machine = PLAIN) -> Job:
        refuse.check(spec)
        return Job("0", contract.local_folders(spec, v1=False), State.CREATING, devices=1, tasks=contract.tasks(spec))


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Server]:
    made = ModelArts(Checked(tmp_path / "home"), PLAIN, {"access": "secret"})
    made.tokens.add("known")
    server = Server(made).start()
    yield server
    server.close()


def _posted(port: int, path: str, value: Any) -> bad_requests.Answered:
    body = json.dumps(value).encode()
    head = f"POST /v2/project/{path} HTTP/1.1\r\nX-Auth-Token: known\r\nContent-Length: {len(body)}\r\n"
    return bad_requests.ask(port, f"{head}Connection: close\r\n\r\n".encode() + body)


def _example(kind: str, depth: int = 0) -> Any:
    """A value of a model class of the official SDK with every field that it has."""
    sdk = importlib.import_module("huaweicloudsdkmodelarts.v1")
    if found := re.fullmatch(r"list\[(\w+)\]", kind):
        return [_example(found[1], depth + 1)]
    model = getattr(sdk, kind, None)
    if model is None or depth > 6:
        return {"str": "text", "int": 1, "float": 1.5, "bool": True}.get(kind, {})
    return {model.attribute_map[name]: _example(its, depth + 1) for name, its in model.openapi_types.items()}


def _job() -> dict[str, Any]:
    """A request that the platform takes, with every field of the SDK."""
    job: dict[str, Any] = _example("Job")
    job["metadata"] |= {"name": "job", "workspace_id": "0"}
    engine = {"engine_version": "mindspore_1.7.0-cann_5.1.0-py_3.7-euler_2.8.3-aarch64"}
    code = {"code_dir": "/bucket-1/code/", "boot_file": "/bucket-1/code/train.py"}
    job["algorithm"] |= {**code, "engine": engine, "environments": {"A": "b"}}
    for row in [*job["algorithm"]["inputs"], *job["algorithm"]["outputs"]]:
        row |= {"access_method": "parameter", "remote": {"obs": {"obs_url": "/bucket-1/data/"}}}
    job["algorithm"]["inputs"][0]["name"] = "data_url"
    job["spec"]["resource"] = {"flavor_id": "modelarts.kat1.xlarge", "node_count": 1}
    job["spec"]["log_export_path"] = {"obs_url": "/bucket-1/log/"}
    job["spec"]["auto_stop"] = {"time_unit": "HOURS", "duration": 1}
    return job


def test_wrong_types_in_every_field_of_a_job(platform: Server) -> None:
    pytest.importorskip("huaweicloudsdkmodelarts.v1", reason="huaweicloudsdkmodelarts is the official client")
    assert _posted(platform.port, "training-jobs", _job()).status == 201
    every = list(bad_requests.spoiled(_job()))
    for value in every[:: len(every) // STEPS or 1]:
        answer = _posted(platform.port, "training-jobs", value)
        assert answer.status in (201, 400, 404), answer
        assert json.loads(answer.body), answer


@pytest.mark.parametrize("seed", SEEDS)
def test_the_platform_refuses_or_answers(platform: Server, seed: int) -> None:
    for path in ("/v2/project/training-jobs", "/v2/project/training-job-searches", "/v3/auth/tokens", ""):
        for request in bad_requests.storage(seed, COUNT // 4, path):
            answer = bad_requests.ask(
                platform.port, request.replace(b"Connection:", b"X-Auth-Token: known\r\nConnection:", 1)
            )
            assert 200 <= answer.status < 500 or answer.status == 501, answer
            assert not any(word in answer.body for word in SECRETS), answer
