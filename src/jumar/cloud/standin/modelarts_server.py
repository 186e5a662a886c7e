"""The loopback ModelArts: the training part of its REST interface, version 2, over the jobs of the stand-in."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jumar.cloud import catalogue, modelarts_v2, signing
from jumar.cloud.job import Job, Refused
from jumar.cloud.standin.http import Answer, Request
from jumar.cloud.standin.jobs import Jobs
from jumar.cloud.standin.machine import Machine
from jumar.cloud.standin.signature import version2
from jumar.cloud.store.folder import FolderStore
from jumar.core.read import decoded
from jumar.tables.load import table

USER = "jumar"
LOG_BUCKET = "modelarts-logs"
LINK_SECONDS = 300
_PATH = re.compile(r"/v2/(?P<project>[^/]+)/(?P<rest>.+)")


class Server:
    """Answers signed requests; `keys` are access keys and their secrets, `obs` is where links to logs lead."""

    def __init__(self, jobs: Jobs, machine: Machine, keys: Mapping[str, str], obs: str = "") -> None:
        self.jobs, self.machine, self.keys, self.obs = jobs, machine, keys, obs
        self.tokens: set[str] = set()

    def __call__(self, request: Request) -> Answer:
        body = request.body.read()
        query = [(name, value or "") for name, value in request.query]
        if (request.method, request.path) == ("POST", "/v3/auth/tokens"):
            return self._login(body)
        known = request.headers.get("x-auth-token", "") in self.tokens
        if not known and not signing.verify(self.keys, request.method, request.raw_path, query, request.headers, body):
            return _error("APIGW.0301", "Incorrect IAM authentication information: verify aksk signature fail", 401)
        match = _PATH.fullmatch(request.path)
        if match is None:
            return _error("APIGW.0101", "The API does not exist or has not been published in the environment", 404)
        try:
            value = decoded(body) if body else {}
        except ValueError:
            return _error("ModelArts.0103", "the body is not JSON", 400)
        try:
            return self._do(request, match["rest"].strip("/"), value)
        except Refused as error:
            return _error(error.fault, error.message, 404 if error.fault.missing else 400)

    def _login(self, body: bytes) -> Answer:
        """IAM's token for a name and a password: here those of the generated key pair, access key and secret key."""
        try:
            user = decoded(body)["auth"]["identity"]["password"]["user"]
            right = self.keys.get(str(user["name"]), "")
            fits = bool(right) and hmac.compare_digest(right.encode(), str(user["password"]).encode())
        except (ValueError, KeyError, TypeError):
            return _error("IAM.0011", "the request has no name and password", 400)
        if not fits:
            return _error("IAM.0001", "The username or password is wrong.", 401)
        token = secrets.token_urlsafe(32)
        self.tokens.add(token)
        answer = _json({"token": {"methods": ["password"]}}, 201)
        return answer._replace(headers={**answer.headers, "X-Subject-Token": token})

    def _do(self, request: Request, path: str, body: Any) -> Answer:
        for route in ROUTES:
            match = re.fullmatch(_pattern(route.path), path) if route.method == request.method else None
            if match is not None:
                return route.answer(self, body, **match.groupdict())
        if name := call_of(request.method, path):
            return _error("Jumar.NotImplemented", f"`{name}` is not part of the stand-in", 501)
        return _error("APIGW.0101", "The API does not exist or has not been published in the environment", 404)

    def create(self, body: Any) -> Answer:
        return _json(_shown(self.jobs.create(modelarts_v2.decode_spec(body), self.machine)), 201)

    def search(self, body: Any) -> Answer:
        offset, limit = modelarts_v2.decode_search(body)
        return _json(modelarts_v2.encode_jobs(self.jobs.all(), catalogue.flavors(), USER, offset, limit))

    def flavors(self, body: Any) -> Answer:
        return _json(modelarts_v2.encode_flavors(catalogue.flavors().values()))

    def engines(self, body: Any) -> Answer:
        return _json(modelarts_v2.encode_engines(catalogue.engines().values()))

    def show(self, body: Any, training_job_id: str) -> Answer:
        return _json(_shown(self.jobs.get(training_job_id)))

    def delete(self, body: Any, training_job_id: str) -> Answer:
        self.jobs.delete(training_job_id)
        return Answer(202)

    def stop(self, body: Any, training_job_id: str) -> Answer:
        modelarts_v2.check_action(body)
        return _json(_shown(self.jobs.stop(training_job_id)), 202)

    def events(self, body: Any, training_job_id: str) -> Answer:
        return _json(modelarts_v2.encode_events(self.jobs.get(training_job_id).events))

    def log(self, body: Any, training_job_id: str, task_id: str) -> Answer:
        return _json(modelarts_v2.encode_log(self.jobs.log(training_job_id, task_id)))

    def log_link(self, body: Any, training_job_id: str, task_id: str) -> Answer:
        return _json({"obs_url": self._link(self._store_log(training_job_id, task_id))})

    def _store_log(self, id_: str, task: str) -> str:
        """Put the whole log into the store; its key there."""
        store = FolderStore(self.jobs.home / "store")
        store.make_bucket(LOG_BUCKET)
        data = self.jobs.whole_log(id_, task)
        key = f"{id_}/{task}.log"
        store.put(LOG_BUCKET, key, data, hashlib.md5(data, usedforsecurity=False).hexdigest())
        return key

    def _link(self, key: str) -> str:
        from urllib.parse import quote

        access, secret = next(iter(self.keys.items()))
        expires = int(time.time()) + LINK_SECONDS
        found = version2(secret, f"GET\n\n\n{expires}\n/{LOG_BUCKET}/{key}")
        return f"{self.obs}/{LOG_BUCKET}/{key}?AccessKeyId={access}&Expires={expires}&Signature={quote(found, safe='')}"


class Route(NamedTuple):
    """What is answered: the path below the project, with the names of its parts, and by whom."""

    method: str
    path: str
    answer: Callable[..., Answer]


ROUTES = (
    Route("POST", "training-jobs", Server.create),
    Route("POST", "training-job-searches", Server.search),
    Route("GET", "training-job-flavors", Server.flavors),
    Route("GET", "training-job-engines", Server.engines),
    Route("GET", "training-jobs/{training_job_id}", Server.show),
    Route("DELETE", "training-jobs/{training_job_id}", Server.delete),
    Route("POST", "training-jobs/{training_job_id}/actions", Server.stop),
    Route("GET", "training-jobs/{training_job_id}/events", Server.events),
    Route("GET", "training-jobs/{training_job_id}/tasks/{task_id}/logs/preview", Server.log),
    Route("GET", "training-jobs/{training_job_id}/tasks/{task_id}/logs/url", Server.log_link),
)


def _pattern(path: str) -> str:
    return re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path)


def call_of(method: str, path: str) -> str:
    """The name that a call has in the official SDK; empty for what is none."""
    for row in table("modelarts_calls.json")["calls"]:
        if row["method"] == method and re.fullmatch(_pattern(row["path"]), path):
            return str(row["name"])
    return ""


def _shown(job: Job) -> dict[str, Any]:
    return modelarts_v2.encode_job(job, catalogue.flavors()[job.spec.flavor], USER)


def _json(value: Any, status: int = 200) -> Answer:
    return Answer(status, {"Content-Type": "application/json"}, json.dumps(value).encode())


def _error(code: str, message: str, status: int) -> Answer:
    return _json({"error_code": code, "error_msg": message}, status)
