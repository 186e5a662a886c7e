"""ModelArts as a platform, through version 2 of its REST interface: urllib and a signature."""

from __future__ import annotations

import functools
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from jumar.cloud import modelarts_v2, signing
from jumar.cloud.credentials import Credentials
from jumar.cloud.job import Engine, Flavor, Job, JobSpec, LogEnd, Refused
from jumar.core.errors import UserError, reason

TIMEOUT = 60
MOST = 64 << 20
"""Bytes of an answer."""
Value = TypeVar("Value")


class Rest:
    version = "v2"
    stops_jobs = True

    def __init__(self, endpoint: str, project: str, pair: Credentials | None) -> None:
        if not endpoint:
            raise UserError("no ModelArts endpoint is known", "set `HUAWEICLOUD_SDK_REGION`, or `region` of the target")
        if not project:
            raise UserError("no project id is known", "set `HUAWEICLOUD_SDK_PROJECT_ID`, or `project_id` of the target")
        if pair is not None:
            pair.check(endpoint)
        self.endpoint, self.project, self.pair = endpoint.rstrip("/"), project, pair

    def request(self, spec: JobSpec) -> Mapping[str, Any]:
        """The body of `submit`."""
        return modelarts_v2.encode_spec(spec)

    def submit(self, spec: JobSpec) -> Job:
        return _read(modelarts_v2.decode_job, self._call("POST", "training-jobs", self.request(spec)))

    def get(self, id_: str) -> Job:
        return _read(modelarts_v2.decode_job, self._call("GET", f"training-jobs/{id_}"))

    def list(self) -> Sequence[Job]:
        return _read(
            modelarts_v2.decode_jobs,
            self._call("POST", "training-job-searches", {"offset": 0, "limit": modelarts_v2.MOST_LISTED}),
        )

    def logs(self, id_: str, task: str = "worker-0") -> LogEnd:
        return _read(modelarts_v2.decode_log, self._call("GET", f"training-jobs/{id_}/tasks/{task}/logs/preview"))

    def stop(self, id_: str) -> None:
        self._call("POST", f"training-jobs/{id_}/actions", modelarts_v2.TERMINATE)

    def delete(self, id_: str) -> None:
        self._call("DELETE", f"training-jobs/{id_}")

    def flavors(self) -> Sequence[Flavor]:
        return _read(modelarts_v2.decode_flavors, self._call("GET", "training-job-flavors"))

    def engines(self) -> Sequence[Engine]:
        return _read(modelarts_v2.decode_engines, self._call("GET", "training-job-engines"))

    def _call(self, method: str, rest: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        rest, _, asked = rest.partition("?")
        path = f"/{self.version}/{self.project}/{rest}"
        query = parse_qsl(asked, keep_blank_values=True)
        data = json.dumps(body).encode() if body is not None else b""
        host = urlsplit(self.endpoint).netloc
        if self.pair is None:
            raise UserError(
                "there is neither a key pair nor a token", "set `HUAWEICLOUD_SDK_AK` and `HUAWEICLOUD_SDK_SK`"
            )
        if self.pair.iam_token:
            headers = {"Content-Type": "application/json", "X-Auth-Token": self.pair.iam_token}
        else:
            headers = signing.sign(self.pair, method, host, path, query, data, self.project)
        address = f"{self.endpoint}{path}?{asked}" if asked else self.endpoint + path
        request = urllib.request.Request(address, data or None, headers, method=method)
        try:
            with _opener().open(request, timeout=TIMEOUT) as answer:
                found = json.loads(answer.read(MOST) or b"{}")
        except urllib.error.HTTPError as error:
            with error:
                raise _refused(error.code, error.read(MOST)) from None
        except (OSError, ValueError) as error:
            what = f"cannot reach ModelArts at `{self.endpoint}`: {reason(error)}"
            raise UserError(what, "check the endpoint") from None
        return found if isinstance(found, dict) else {}


class _Stays(urllib.request.HTTPRedirectHandler):
    """Follows nobody: urllib would carry all headers, and so the token, to whatever host an answer names."""

    def redirect_request(self, *_: Any) -> None:
        return None


@functools.cache
def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_Stays)


def _read(decode: Callable[[dict[str, Any]], Value], answer: dict[str, Any]) -> Value:
    try:
        return decode(answer)
    except Refused as error:
        raise UserError(f"cannot understand ModelArts' answer: {error}", "check the endpoint") from None


def _refused(status: int, raw: bytes) -> UserError:
    try:
        said = json.loads(raw)
        code, message = said.get("error_code", ""), said.get("error_msg") or said.get("error_message") or ""
    except (ValueError, AttributeError):
        code, message = str(status), ""
    if 300 <= status < 400:
        return UserError("ModelArts refers to another host, to which no keys are sent", "check the endpoint")
    hint = "check the key pair and its permissions for ModelArts" if status in (401, 403) else None
    return UserError(f"ModelArts refuses the request: {code} {message}".strip(), hint)
