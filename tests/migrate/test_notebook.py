"""Notebooks: byte-exact edits inside the JSON, one namespace for all cells, IPython lines read as what they are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jumar.core.finding import State
from jumar.migrate.project import migrate_bytes
from jumar.migrate.result import FileResult
from jumar.migrate.settings import Settings


def book(*sources: str | list[str], **metadata: Any) -> dict[str, Any]:
    cells = [
        {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [{"text": ["cuda\n"]}], "source": source}
        for source in sources
    ]
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def run(notebook: dict[str, Any], indent: int | None = 1, ensure_ascii: bool = False) -> FileResult:
    raw = json.dumps(notebook, indent=indent, ensure_ascii=ensure_ascii).encode()
    result = migrate_bytes("page.ipynb", raw, Settings())
    assert result is not None
    json.loads(result.after)
    again = migrate_bytes("page.ipynb", result.after, Settings())
    assert again is not None and again.after == result.after
    return result


def sources(result: FileResult) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(result.after)["cells"]]


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_an_import_counts_in_later_cells(indent: int | None) -> None:
    result = run(book(["import torch\n", "import os"], ["x = torch.cuda.device_count()\n", "y = 1"]), indent)
    assert sources(result) == ["import torch\nimport torch_npu\nimport os", "x = torch.npu.device_count()\ny = 1"]
    assert json.loads(result.after)["cells"][0]["source"] == ["import torch\n", "import torch_npu\n", "import os"]


def test_a_single_string_stays_one() -> None:
    result = run(book('import torch\nprint("é", torch.zeros(1, device="cuda"))\n'), ensure_ascii=True)
    assert sources(result) == ['import torch\nimport torch_npu\nprint("é", torch.zeros(1, device="npu"))\n']
    assert b"\\u00e9" in result.after and b'device=\\"npu\\"' in result.after


def test_outputs_and_metadata_are_untouched() -> None:
    notebook = book(["import torch\n", "torch.cuda.synchronize()"], accelerator="GPU")
    result = run(notebook)
    after = json.loads(result.after)
    assert after["metadata"] == notebook["metadata"]
    assert after["cells"][0]["outputs"] == [{"text": ["cuda\n"]}]


def test_findings_name_cell_and_line() -> None:
    result = run(book("a = 1", ["import torch\n", "b = 2\n", "torch.cuda.synchronize()"]))
    messages = [finding.message for finding in result.findings if finding.id == "PT102"]
    assert len(messages) == 1 and messages[0].startswith("cell 2, line 3: ")


def test_shell_lines_and_magics() -> None:
    result = run(
        book(
            ["!nvidia-smi\n", "%env CUDA_VISIBLE_DEVICES=1,0\n", "!pip install flash-attn\n", "x = !nvidia-smi -L"],
            ["%%bash\n", "export CUDA_VISIBLE_DEVICES=0\n", "nvidia-smi\n"],
            ["%%time\n", "import torch\n", "torch.cuda.synchronize()"],
            ["if True:\n", "    !nvidia-smi\n", "    %matplotlib inline\n", "torch.cuda.synchronize?"],
        )
    )
    assert sources(result) == [
        "!npu-smi info\n%env ASCEND_RT_VISIBLE_DEVICES=0,1\n!pip install flash-attn\nx = !nvidia-smi -L",
        "%%bash\nexport ASCEND_RT_VISIBLE_DEVICES=0\nnpu-smi info\n",
        "%%time\nimport torch\nimport torch_npu\ntorch.npu.synchronize()",
        "if True:\n    !npu-smi info\n    %matplotlib inline\ntorch.cuda.synchronize?",
    ]
    assert {"RQ103", "SH102"} <= {finding.id for finding in result.findings if finding.state is State.HAND}


def test_shell_lines_go_on_behind_a_backslash() -> None:
    lines = [
        "!export CUDA_VISIBLE_DEVICES=0\n",
        "!python train.py \\\n",
        '    --name "a b"\\\n',
        "    --device cuda\n",
        "%run eval.py \\\n",
    ]
    result = run(book([*lines, "    --fast\n", "import torch\n", "torch.cuda.synchronize()"]))
    assert sources(result) == [
        '!export ASCEND_RT_VISIBLE_DEVICES=0\n!python train.py \\\n    --name "a b"\\\n    --device npu\n'
        "%run eval.py \\\n    --fast\nimport torch\nimport torch_npu\ntorch.npu.synchronize()"
    ]
    assert "PT001" not in {finding.id for finding in result.findings}


def test_a_cell_that_is_not_python_does_not_stop_the_others() -> None:
    result = run(book("print 'cuda'", "import torch\ntorch.cuda.synchronize()"))
    assert sources(result)[1].endswith("torch.npu.synchronize()")
    assert ("PT001", State.HAND) in {(finding.id, finding.state) for finding in result.findings}


def test_text_of_other_cell_magics_is_reported() -> None:
    result = run(book("%%writefile a.py\nimport torch\ntorch.cuda.synchronize()\n"))
    assert not result.changed
    assert [finding.state for finding in result.findings] == [State.HAND]


def test_a_percent_sign_that_continues_an_expression_is_python() -> None:
    result = run(book('import torch\nprint("%s"\n      % torch.cuda.device_count())'))
    assert sources(result)[0].endswith("% torch.npu.device_count())")


@pytest.mark.parametrize(
    "raw", [b"", b"{", b'{"cells": 3}', b'{"worksheets": [{"cells": []}], "x": "cuda"}', b'["cuda"]']
)
def test_other_json_is_left_alone(raw: bytes) -> None:
    result = migrate_bytes("page.ipynb", raw, Settings())
    assert result is not None and not result.changed and not result.findings


def test_other_languages_are_left_alone() -> None:
    result = run(book("device <- 'cuda'", kernelspec={"language": "R"}))
    assert not result.changed
