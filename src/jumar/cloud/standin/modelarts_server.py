"""The loopback ModelArts: the training part of its REST interface, version 2, over the jobs of the stand-in."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Mapping
from typing import Any

from jumar.cloud import signing
from jumar.cloud.standin.http import Answer, Request
from jumar.cloud.standin.jobs import Jobs, Record, Rejected, engines, flavors
from jumar.cloud.standin.signature import version2
from jumar.cloud.store.folder import FolderStore
from jumar.tables.load import table

PREVIEW = 5 << 20
LOG_BUCKET = "modelarts-logs"
LINK_SECONDS = 300
_PATH = re.compile(r"/v2/(?P<project>[^/]+)/(?P<rest>.+)")


class Api:
    """What the platform answers, as plain values; the server and the command line both ask here."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs

    def request(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return body

    def create(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return show(self.jobs.create(body))

    def get(self, id_: str) -> dict[str, Any]:
        return show(self.jobs.get(id_))

    def search(self, offset: int = 0, limit: int = 100) -> dict[str, Any]:
        found = self.jobs.all()
        items = [show(record) for record in found[offset : offset + limit]]
        return {"total": len(found), "count": len(items), "limit": limit, "offset": offset, "items": items,
                "sort_by": "create_time", "order": "desc"}  # fmt: skip

    def preview(self, id_: str, task: str = "worker-0") -> dict[str, Any]:
        data = self._log(id_, task)
        tail = data[-PREVIEW:]
        return {"content": tail.decode(errors="replace"), "current_size": len(tail), "full_size": len(data)}

    def stop(self, id_: str) -> dict[str, Any]:
        return show(self.jobs.stop(id_))

    def delete(self, id_: str) -> None:
        self.jobs.delete(id_)

    def events(self, id_: str) -> dict[str, Any]:
        rows = [{"message": one["message"], "time": str(one["time"]), "level": "Info", "source": "jumar"}
                for one in self.jobs.get(id_).status.get("events", ())]  # fmt: skip
        return {"total": len(rows), "count": len(rows), "limit": len(rows), "offset": 0, "order": "asc", "events": rows}

    def flavors(self) -> dict[str, Any]:
        rows = [_flavor(row) for row in flavors().values()]
        return {"total_count": len(rows), "flavors": rows}

    def engines(self) -> dict[str, Any]:
        rows = [{"engine_id": row["version"], "engine_name": "Ascend-Powered-Engine", "engine_version": row["version"],
                 "v1_compatible": row["v1_compatible"], "run_user": "1102"} for row in engines()]  # fmt: skip
        return {"total": len(rows), "items": rows}

    def _log(self, id_: str, task: str) -> bytes:
        logs = self.jobs.logs(id_)
        if task not in self.jobs.get(id_).contract().tasks():
            raise Rejected("Jumar.NoSuchTask", f"no such task: {task}", 404)
        node = next((path for name, path in logs.items() if name.endswith(f"{task}.log")), None)
        return node.read_bytes() if node else b""

    def store_log(self, id_: str, task: str) -> str:
        """Put the whole log into the store; its key there."""
        store = FolderStore(self.jobs.home / "store")
        store.make_bucket(LOG_BUCKET)
        data = self._log(id_, task)
        key = f"{id_}/{task}.log"
        store.put(LOG_BUCKET, key, data, hashlib.md5(data, usedforsecurity=False).hexdigest())
        return key


class Server:
    """Answers signed requests; `keys` are access keys and their secrets, `obs` is where links to logs lead."""

    def __init__(self, jobs: Jobs, keys: Mapping[str, str], obs: str = "") -> None:
        self.api, self.keys, self.obs = Api(jobs), keys, obs
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
            value = json.loads(body) if body else {}
        except ValueError:
            return _error("ModelArts.0103", "the body is not JSON", 400)
        try:
            return self._do(request, match["rest"].strip("/").split("/"), value)
        except Rejected as error:
            return _error(error.code, error.message, error.status)

    def _login(self, body: bytes) -> Answer:
        """IAM's token for a name and a password: here those of the generated key pair, access key and secret key."""
        try:
            user = json.loads(body)["auth"]["identity"]["password"]["user"]
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

    def _do(self, request: Request, words: list[str], body: Any) -> Answer:
        api = self.api
        match request.method, words:
            case "POST", ["training-jobs"]:
                return _json(api.create(body), 201)
            case "POST", ["training-job-searches"]:
                return _json(api.search(int(body.get("offset") or 0), int(body.get("limit") or 100)))
            case "GET", ["training-job-flavors"]:
                return _json(api.flavors())
            case "GET", ["training-job-engines"]:
                return _json(api.engines())
            case "GET", ["training-jobs", id_]:
                return _json(api.get(id_))
            case "DELETE", ["training-jobs", id_]:
                api.delete(id_)
                return Answer(202)
            case "POST", ["training-jobs", id_, "actions"]:
                if body.get("action_type") != "terminate":
                    raise Rejected("ModelArts.0103", "action_type must be terminate")
                return _json(api.stop(id_), 202)
            case "GET", ["training-jobs", id_, "events"]:
                return _json(api.events(id_))
            case "GET", ["training-jobs", id_, "tasks", task, "logs", "preview"]:
                return _json(api.preview(id_, task))
            case "GET", ["training-jobs", id_, "tasks", task, "logs", "url"]:
                return _json({"obs_url": self._link(api.store_log(id_, task))})
        return _error("APIGW.0101", "The API does not exist or has not been published in the environment", 404)

    def _link(self, key: str) -> str:
        from urllib.parse import quote

        access, secret = next(iter(self.keys.items()))
        expires = int(time.time()) + LINK_SECONDS
        found = version2(secret, f"GET\n\n\n{expires}\n/{LOG_BUCKET}/{key}")
        return f"{self.obs}/{LOG_BUCKET}/{key}?AccessKeyId={access}&Expires={expires}&Signature={quote(found, safe='')}"


def show(record: Record) -> dict[str, Any]:
    """A job as the platform shows it."""
    body, job = record.body, record.contract()
    algorithm = dict(body["algorithm"])
    for kind, place in (("inputs", job.layout.input), ("outputs", job.layout.output)):
        rows = [
            {**row, "local_dir": place(row["name"], number)} for number, row in enumerate(algorithm.get(kind) or ())
        ]
        if kind == "outputs":
            rows = [{**row, "mode": "upload_periodically", "period": 30} for row in rows]
        algorithm[kind] = rows
    spec = dict(body["spec"])
    flavor = flavors()[spec["resource"]["flavor_id"]]
    spec["resource"] = {**spec["resource"], "node_count": job.nodes, "flavor_detail": _flavor(flavor)}
    metadata = {"workspace_id": "0", **body["metadata"], "id": record.id, "create_time": record.made,
                "user_name": "jumar"}  # fmt: skip
    status = {**{name: value for name, value in record.status.items() if name != "events"}, "tasks": job.tasks()}
    return {"kind": "job", "metadata": metadata, "status": status, "algorithm": algorithm, "spec": spec}


def _flavor(row: Mapping[str, Any]) -> dict[str, Any]:
    most = table("modelarts.toml")["limits"]["standin_nodes"]
    info = {
        "max_num": most,
        "cpu": {"arch": "arm", "core_num": row["cpu"]},
        "npu": {"unit_num": row["devices"], "product_name": "ascend-snt9", "memory": "32GB"},
        "memory": {"size": row["memory_gb"], "unit": "GB"},
    }
    return {"flavor_id": row["id"], "flavor_name": row["id"], "flavor_type": "Ascend", "max_num": most,
            "billing": {"code": row["id"], "unit_num": 1}, "flavor_info": info}  # fmt: skip


def _json(value: Any, status: int = 200) -> Answer:
    return Answer(status, {"Content-Type": "application/json"}, json.dumps(value).encode())


def _error(code: str, message: str, status: int) -> Answer:
    return _json({"error_code": code, "error_msg": message}, status)
