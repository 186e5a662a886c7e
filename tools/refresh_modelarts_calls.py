"""Writes `data/modelarts_calls.json`: the training calls of the official ModelArts SDK that is installed here.

    python tools/refresh_modelarts_calls.py DATE

Which of them the stand-in answers is said by `jumar.cloud.standin.modelarts_server`.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from importlib import metadata
from pathlib import Path

from huaweicloudsdkmodelarts.v1 import ModelArtsClient

OUT = Path(__file__).parents[1] / "src" / "jumar" / "data" / "modelarts_calls.json"
_CALL = re.compile(r'"method": "(\w+)",\s+"resource_path": "/v2/\{project_id\}/([^"]+)"')
_ENDING = "_http_info"


def main() -> None:
    calls = []
    for name, function in sorted(vars(ModelArtsClient).items()):
        found = _CALL.search(inspect.getsource(function.__func__)) if name.endswith(_ENDING) else None
        if found and "training-" in found[2]:
            calls.append({"name": name.removeprefix("_").removesuffix(_ENDING), "method": found[1], "path": found[2]})
    rows = ",\n".join(json.dumps(call) for call in calls)
    head = {
        "source": f"huaweicloudsdkmodelarts {metadata.version('huaweicloudsdkmodelarts')}",
        "date": sys.argv[1],
        "tool": "tools/refresh_modelarts_calls.py",
    }
    lines = [f"{json.dumps(name)}: {json.dumps(value)}," for name, value in head.items()]
    OUT.write_text("\n".join(["{", *lines, f'"calls": [\n{rows}\n]', "}", ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
