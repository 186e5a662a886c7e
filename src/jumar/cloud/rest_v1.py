"""ModelArts as a platform, through version 1 of its REST interface, for old regions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from jumar.cloud import catalogue, modelarts_v1
from jumar.cloud.job import Engine, Flavor, Job, JobSpec, LogEnd
from jumar.cloud.rest import Rest
from jumar.core.errors import UserError

LINES = 500
MOST = 100
"""Jobs in a list."""
MOST_PAGES = 200


class RestV1(Rest):
    version = "v1"
    stops_jobs = False

    def request(self, spec: JobSpec) -> Mapping[str, Any]:
        """The body of `submit`; the numbers of engine and flavour are asked for."""
        flavor = next(one for one in self.flavors() if one.id == spec.flavor)
        engine = next(one for one in self.engines() if one.version == spec.engine)
        return modelarts_v1.encode_spec(spec, flavor, engine)

    def submit(self, spec: JobSpec) -> Job:
        return self.get(modelarts_v1.job_id(self._ask("POST", "training-jobs", self.request(spec))))

    def get(self, id_: str) -> Job:
        return modelarts_v1.decode_job(self._ask("GET", self._path(id_)))

    def list(self) -> Sequence[Job]:
        found = self._ask("GET", f"training-jobs?{urlencode({'per_page': MOST, 'page': 1})}")
        return [modelarts_v1.decode_job(row) for row in found.get("jobs") or ()]

    def logs(self, id_: str, task: str = "worker-0") -> LogEnd:
        """Version 1 gives the last lines, and others before them; all that can be had."""
        names = self._ask("GET", f"{self._path(id_)}/log/file-names").get("log_file_list") or ()
        text = "".join(self._log(id_, str(name)) for name in names)
        return LogEnd(text, len(text.encode()))

    def _log(self, id_: str, name: str) -> str:
        pages: list[str] = []
        base = ""
        for _ in range(MOST_PAGES):
            query = {"log_file": name, "lines": LINES, "order": "asc"}
            page = self._ask("GET", f"{self._path(id_)}/aom-log?{urlencode({**query, 'base_line': base})}")
            if not int(page.get("lines") or 0) or str(page.get("start_line")) == base:
                break
            text = str(page.get("content") or "")
            pages.append(text if text.endswith("\n") else f"{text}\n")
            base = str(page.get("start_line") or "")
            if int(page["lines"]) < LINES:
                break
        return "".join(reversed(pages))

    def stop(self, id_: str) -> None:
        self._ask("POST", f"{self._path(id_)}/stop", {})

    def delete(self, id_: str) -> None:
        self._ask("DELETE", f"training-jobs/{self._path(id_).split('/')[1]}")

    def flavors(self) -> Sequence[Flavor]:
        known = {flavor.id: flavor.devices for flavor in catalogue.flavors().values()}
        rows = self._ask("GET", "job/resource-specs?job_type=train").get("specs") or ()
        return [modelarts_v1.decode_flavor(row, known.get(row["spec_code"].removesuffix(".public"), 0)) for row in rows]

    def engines(self) -> Sequence[Engine]:
        rows = self._ask("GET", "job/ai-engines?job_type=train").get("engines") or ()
        return [modelarts_v1.decode_engine(row) for row in rows]

    def _path(self, id_: str) -> str:
        if not re.fullmatch(r"\d+-\d+", id_):
            raise UserError(f"no such job: `{id_}`", "version 1 has ids such as `10-12`: `jumar cloud ls-jobs`")
        job, version = id_.split("-")
        return f"training-jobs/{job}/versions/{version}"

    def _ask(self, method: str, rest: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        found = self._call(method, rest, body)
        if found.get("is_success") is False:
            said = f"{found.get('error_code', '')} {found.get('error_message', '')}".strip()
            raise UserError(f"ModelArts refuses the request: {said}")
        return found
