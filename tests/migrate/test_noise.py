"""Findings that tell nobody anything become benign, with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumar import api
from jumar.core.finding import State
from jumar.migrate import pyfile
from jumar.migrate.languages import python
from jumar.migrate.project import migrate_bytes
from jumar.migrate.settings import RuleFile, Settings
from jumar.runtime import trust


def _left(folder: Path) -> list[tuple[str, int]]:
    found = api.analyze(folder, cache=False).findings
    return [
        (item.id, item.where.line if item.where else 0)
        for item in found
        if item.state in (State.HAND, State.UNSUPPORTED, State.FALLBACK)
    ]


@pytest.mark.parametrize(
    ("name", "text", "left"),
    [
        ("a.py", "import torch\nSIZES = {torch.float16: 2, torch.float32: 4, torch.float64: 8}\n", []),
        ("a.py", "import torch\nKNOWN = [\n    torch.float16,\n    torch.float32,\n    torch.float64,\n]\n", []),
        ("a.py", "import torch\n\n\ndef f(x):\n    return x.dtype == torch.float64\n", []),
        ("a.py", "import torch\n\n\ndef f(x):\n    return x.dtype in (torch.float32, torch.float64)\n", []),
        ("a.py", "import torch\nx = torch.ones(2, dtype=torch.float64)\n", [("PT175", 2)]),
        ("a.py", "import torch\nx = {'a': torch.ones(2, dtype=torch.float64)}\n", [("PT175", 2)]),
        ("a.py", "import torch\n\n\ndef f(kinds=(torch.float32, torch.float64)):\n    return kinds\n", []),
        ("a.py", "import torch\n\n\ndef f(npu):\n    return torch.float32 if npu else torch.float64\n", []),
        ("a.py", "import torch\n\n\ndef f(npu):\n    return torch.float64 if npu else torch.float32\n", [("PT175", 5)]),
        ("a.py", "import torch\n\n\ndef f(npu):\n    return torch.half if not npu else torch.double\n", [("PT175", 5)]),
        ("a.py", "import torch\n\n\ndef f(mps):\n    return torch.float32 if mps else torch.float64\n", [("PT175", 5)]),
        ("a.py", "def f(kind):\n    return kind == 'xformers' or kind in ['flash_attn', 'sdpa']\n", []),
        ("a.py", "def f(kind='xformers'):\n    return kind\n", [("PT200", 1)]),
        ("a.py", "import os\n\nFILES = os.path.join('csrc', 'cuda', '*.cu')\n", []),
        ("a.py", "ARGS = {'nvcc': ['-O3', '-DCUDA_HAS_FP16=1']}\nARGS['nvcc'] += []\n", []),
        ("a.py", "TOOL = ['nvcc', '--version']\n", [("PT178", 1)]),
        ("a.py", "LOGO = f'{folder}/nvidia.png'\n", []),
        ("a.py", "import pytest\nCASE = pytest.param(1, id='cuda-fp32')\n", []),
        ("a.py", "CUDA_0 = 1\n__all__ = ['CUDA_0']\n", []),
        ("requirements.txt", "nvidia-cublas-cu12==12.1\nnvidia-nvtx-cu12==12.1\n", [("RQ103", 1)]),
        ("words.json", '{"\u0120nvidia": 47181, "##cuda": 3}\n', []),
        ("a.py", "import shutil\n\nTOOL = shutil.which('cuda')\n", [("PT101", 3)]),
        ("a.py", "SOURCES = ['csrc/gelu_cuda.cpp', f'cuda/gelu.cu']\n", []),
        ("a.py", "import flash_attn\nimport flash_attn\nimport flash_attn\n", [("PT200", 1)]),
        ("vocab.json", '{"nvidia</w>": 27325, "cuda": 3}\n', []),
        ("tokenizer/tokenizer.json", '{"model": {"vocab": {"nvidia</w>": 27325}}}\n', []),
        ("data.json", '{"q": "I bought a card made by nvidia and it is very quick"}\n', []),
    ],
)
def test_what_is_noise(name: str, text: str, left: list[tuple[str, int]], tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    assert _left(tmp_path) == left


def test_a_package_is_said_once_with_the_count(tmp_path: Path) -> None:
    text = "import torch\nimport xformers\nfrom xformers import ops\nx = ops.f(torch.ones(1))\n"
    (tmp_path / "a.py").write_text(text)
    found = [item for item in api.analyze(tmp_path, cache=False).findings if item.id == "PT200"]
    said = [item for item in found if item.state is not State.BENIGN]
    assert len(found) > len(said) == len({item.fix for item in said})
    assert any("places in this file)" in item.message for item in said)
    assert all("(said at line " in item.message for item in found if item.state is State.BENIGN)


def test_sentences_in_code_are_for_people(tmp_path: Path) -> None:
    lines = ['HELP = {"zh": "选择训练使用的GPU号，如CUDA不可用只能选择CPU"}', '__all__ = ["SyncCudaMemoryMonitor"]']
    (tmp_path / "a.py").write_text("\n".join([*lines, 'KIND = "cuda_graphs"', ""]))
    assert [row for row in _left(tmp_path) if row[1] < 3] == []


def test_a_file_is_parsed_once_for_rules_and_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text("import torch\nSIZES = {torch.float16: 2, torch.float64: 8}\nNAME = 'nvidia.png'\n")
    parsed: list[object] = []
    monkeypatch.setattr(python, "parse", lambda data, path: parsed.append(path) or pyfile.parse(data, path))
    result = migrate_bytes("a.py", (tmp_path / "a.py").read_bytes(), Settings(), quiet=True)
    assert result is not None and {finding.state for finding in result.findings} == {State.BENIGN}
    assert parsed == ["a.py"]


def test_a_rule_of_ones_own_says_what_is_noise(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from jumar.core.finding import State\n"
        "from jumar.migrate.rule import Rule\n"
        "RULE = Rule('XX101', 'own', 'a name of our own', ('shiny',))\n"
        "def visit_Constant(node, file):\n"
        "    if node.value == 'shiny':\n"
        "        yield file.report(RULE, node, State.HAND, 'shiny')\n"
        "def noise(finding, place):\n"
        "    return 'only listed' if len(place.string) > 2 and place.line.startswith('LIST') else ''\n"
    )
    text = b"A = 'shiny'\nLIST = ['shiny']\n"
    rules = (RuleFile(str(tmp_path / "own.py"), trust.digest((tmp_path / "own.py").read_bytes())),)
    result = migrate_bytes("a.py", text, Settings(rule_files=rules), quiet=True)
    assert result is not None
    assert [(finding.message, finding.state) for finding in result.findings] == [
        ("shiny", State.HAND),
        ("shiny (only listed)", State.BENIGN),
    ]
