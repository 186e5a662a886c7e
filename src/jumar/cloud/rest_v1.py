"""Version 1 of ModelArts' training interface, for old regions, with the calls and answers of version 2.

opentelekomcloud-docs/modelarts@1ba1873, historical_apis/training_management_old_version, read 2026-11-16. Jobs have
numbers and versions there: `10-12` stands for version 12 of job 10. There are no environment variables, no `auto_stop`,
and one input; further ones become arguments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from jumar.cloud.rest import Rest
from jumar.core.errors import UserError
from jumar.tables.load import table

PHASES = {
    **dict.fromkeys(("0", "1", "2", "4", "18", "19", "20"), "Creating"),
    **dict.fromkeys(("3", "5", "6", "11", "16", "17", "21"), "Failed"),
    **dict.fromkeys(("8", "15"), "Running"),
    **dict.fromkeys(("12", "13"), "Terminated"),
    "7": "Pending",
    "9": "Terminating",
    "10": "Completed",
    "14": "Abnormal",
}
LINES = 500
MOST_PAGES = 200


class RestV1(Rest):
    version = "v1"

    def request(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body of version 1 for one of version 2; numbers of engine and flavour are asked for."""
        algorithm, spec = body["algorithm"], body["spec"]
        if algorithm.get("environments"):
            raise UserError("version 1 of the interface has no environment variables", "leave `--env` out")
        inputs = {row["name"]: row["remote"]["obs"]["obs_url"] for row in algorithm.get("inputs") or ()}
        outputs = {row["name"]: row["remote"]["obs"]["obs_url"] for row in algorithm["outputs"]}
        rows = [{"label": row["name"], "value": str(row["value"])} for row in algorithm.get("parameters") or ()]
        rows += [{"label": name, "value": f"s3:/{url}"} for name, url in inputs.items() if name != "data_url"]
        config = {
            "worker_server_num": spec["resource"]["node_count"],
            "app_url": algorithm["code_dir"],
            "boot_file_url": algorithm["boot_file"],
            "parameter": rows,
            "spec_id": self._number("specs", "spec_code", "spec_id", spec["resource"]["flavor_id"]),
            "engine_id": self._number("engines", "engine_version", "engine_id", algorithm["engine"]["engine_version"]),
            "train_url": outputs["train_url"],
            "log_url": spec["log_export_path"]["obs_url"],
        }
        if "data_url" in inputs:
            config["data_url"] = inputs["data_url"]
        return {
            "job_name": body["metadata"]["name"],
            "job_desc": body["metadata"].get("description", ""),
            "config": config,
        }

    def create(self, body: Mapping[str, Any]) -> dict[str, Any]:
        made = self._ask("POST", "training-jobs", self.request(body))
        return self.get(f"{made['job_id']}-{made['version_id']}")

    def get(self, id_: str) -> dict[str, Any]:
        found = self._ask("GET", self._path(id_))
        shown = _shown(found)
        shown["algorithm"] = {"outputs": [_channel("train_url", found.get("train_url") or "")]}
        return shown

    def search(self, offset: int = 0, limit: int = 100) -> dict[str, Any]:
        query = urlencode({"per_page": limit, "page": offset // limit + 1})
        found = self._ask("GET", f"training-jobs?{query}")
        return {"total": found.get("job_total_count", 0), "items": [_shown(row) for row in found.get("jobs") or ()]}

    def preview(self, id_: str, task: str = "worker-0") -> dict[str, Any]:
        """Version 1 gives the last lines, and others before them; all that can be had."""
        names = self._ask("GET", f"{self._path(id_)}/log/file-names").get("log_file_list") or ()
        text = "".join(self._log(id_, str(name)) for name in names)
        size = len(text.encode())
        return {"content": text, "current_size": size, "full_size": size}

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

    def stop(self, id_: str) -> dict[str, Any]:
        return self._ask("POST", f"{self._path(id_)}/stop", {})

    def delete(self, id_: str) -> None:
        self._ask("DELETE", f"training-jobs/{self._path(id_).split('/')[1]}")

    def flavors(self) -> dict[str, Any]:
        known = {row["id"]: int(row["devices"]) for row in table("modelarts.toml")["flavors"]}
        rows = [
            {
                "flavor_id": row["spec_code"],
                "max_num": row.get("max_num"),
                "flavor_info": {"npu": {"unit_num": known.get(row["spec_code"].removesuffix(".public"), 0)}},
            }
            for row in self._catalogue("specs")
        ]
        return {"flavors": rows}

    def engines(self) -> dict[str, Any]:
        rows = self._catalogue("engines")
        return {"items": [{"engine_version": row["engine_version"], "v1_compatible": True} for row in rows]}

    def _catalogue(self, what: str) -> list[dict[str, Any]]:
        name = "resource-specs" if what == "specs" else "ai-engines"
        return list(self._ask("GET", f"job/{name}?job_type=train").get(what) or ())

    def _number(self, what: str, key: str, number: str, wanted: str) -> int:
        return next(int(row[number]) for row in self._catalogue(what) if row[key] == wanted)

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


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    phase = PHASES.get(str(row.get("status")), "Abnormal")
    return {
        "metadata": {
            "id": f"{row['job_id']}-{row['version_id']}",
            "name": row.get("job_name", ""),
            "create_time": row.get("create_time", 0),
        },
        "status": {"phase": phase, "secondary_phase": phase, "duration": row.get("duration"), "tasks": ["worker-0"]},
    }


def _channel(name: str, url: str) -> dict[str, Any]:
    return {"name": name, "remote": {"obs": {"obs_url": url}}}
