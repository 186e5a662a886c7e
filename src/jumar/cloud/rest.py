"""The client of ModelArts' REST interface, with the same calls as the stand-in's own: urllib and a signature."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from jumar.cloud import signing
from jumar.cloud.credentials import Credentials
from jumar.core.errors import UserError

TIMEOUT = 60


class Rest:
    version = "v2"

    def __init__(self, endpoint: str, project: str, pair: Credentials | None) -> None:
        if not endpoint:
            raise UserError("no ModelArts endpoint is known", "set `HUAWEICLOUD_SDK_REGION`, or `region` of the target")
        if not project:
            raise UserError("no project id is known", "set `HUAWEICLOUD_SDK_PROJECT_ID`, or `project_id` of the target")
        self.endpoint, self.project, self.pair = endpoint.rstrip("/"), project, pair

    def request(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """What is sent to start a job."""
        return body

    def create(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._call("POST", "training-jobs", body)

    def get(self, id_: str) -> dict[str, Any]:
        return self._call("GET", f"training-jobs/{id_}")

    def search(self, offset: int = 0, limit: int = 100) -> dict[str, Any]:
        return self._call("POST", "training-job-searches", {"offset": offset, "limit": limit})

    def preview(self, id_: str, task: str = "worker-0") -> dict[str, Any]:
        found = self._call("GET", f"training-jobs/{id_}/tasks/{task}/logs/preview")
        # Before 2022 it was called `context`.
        return {**found, "content": found.get("content") or found.get("context") or ""}

    def stop(self, id_: str) -> dict[str, Any]:
        return self._call("POST", f"training-jobs/{id_}/actions", {"action_type": "terminate"})

    def delete(self, id_: str) -> None:
        self._call("DELETE", f"training-jobs/{id_}")

    def flavors(self) -> dict[str, Any]:
        return self._call("GET", "training-job-flavors")

    def engines(self) -> dict[str, Any]:
        return self._call("GET", "training-job-engines")

    def _call(self, method: str, rest: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        rest, _, asked = rest.partition("?")
        path = f"/{self.version}/{self.project}/{rest}"
        query = parse_qsl(asked, keep_blank_values=True)
        data = json.dumps(body).encode() if body is not None else b""
        host = urlsplit(self.endpoint).netloc
        if self.pair is not None:
            headers = signing.sign(self.pair, method, host, path, query, data, self.project)
        elif known := token():
            headers = {"Content-Type": "application/json", "X-Auth-Token": known}
        else:
            raise UserError(
                "neither a key pair nor a token is there", "set `HUAWEICLOUD_SDK_AK` and `HUAWEICLOUD_SDK_SK`"
            )
        address = f"{self.endpoint}{path}?{asked}" if asked else self.endpoint + path
        request = urllib.request.Request(address, data or None, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                found = json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            with error:
                raise _refused(error.code, error.read()) from None
        except (OSError, ValueError) as error:
            raise UserError(f"cannot reach ModelArts at `{self.endpoint}`: {error}", "check the endpoint") from None
        return found if isinstance(found, dict) else {}


def token() -> str:
    """A token of IAM, if the environment has one; it goes before a key pair."""
    return os.environ.get("HUAWEICLOUD_SDK_AUTH_TOKEN") or os.environ.get("OS_AUTH_TOKEN") or ""


def _refused(status: int, raw: bytes) -> UserError:
    try:
        said = json.loads(raw)
        code, message = said.get("error_code", ""), said.get("error_msg") or said.get("error_message") or ""
    except (ValueError, AttributeError):
        code, message = str(status), ""
    hint = "check the key pair and its permissions for ModelArts" if status in (401, 403) else None
    return UserError(f"ModelArts refuses the request: {code} {message}".strip(), hint)
