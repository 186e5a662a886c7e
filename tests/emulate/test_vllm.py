"""vLLM with vllm-ascend on emulated cards; only where both are installed (docs/guides/vllm.md)."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).parents[2] / "examples" / "ecosystem" / "vllm_generate.py"
_MISSING = [name for name in ("vllm", "vllm_ascend") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(_MISSING), reason=f"not installed: {', '.join(_MISSING)}; see docs/guides/vllm.md"),
]


def _tokens(folder: Path, machine: str, *words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "jumar", "run", str(_SCRIPT), *words],
        env={**os.environ, "JUMAR_MACHINE": machine, "HF_HUB_OFFLINE": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr
    return re.findall(r"^step \d+ token \d+", done.stdout, re.M)


_WORDS = {
    "eager": "",
    "graph": "--graph",
    "tensor-parallel": "--cards 2",
    "pipeline": "--pipeline 2",
    "adapters": "--lora",
    "sleep": "--sleep",
    "triton-in-a-graph": "--model qwen3 --graph",
    "experts": "--model qwen3-moe",
    "latent-attention": "--model deepseek-v3",
}


@pytest.mark.parametrize("words", _WORDS.values(), ids=_WORDS)
def test_greedy_tokens_are_those_of_transformers(words: str, tmp_path: Path, machine: str) -> None:
    expected = _tokens(tmp_path, machine, "--cpu", *words.split())
    assert len(expected) == (240 if "--lora" in words else 80)
    assert _tokens(tmp_path, machine, *words.split()) == expected
