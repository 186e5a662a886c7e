"""What other projects use in their CI: the action, the GitLab template, the pre-commit hook, the image, the guide."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

TOP = Path(__file__).parents[2]
GUIDE = TOP / "docs" / "guides" / "ci.md"
CHECK = "jumar run -c 'import torch; assert torch.npu.is_available()'"


def _blocks(language: str, guide: Path = GUIDE) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", guide.read_text(encoding="utf-8"), re.M | re.S)


def _step(name: str) -> dict[str, str]:
    steps = yaml.safe_load((TOP / "action.yml").read_text())["runs"]["steps"]
    return next(step for step in steps if step["name"] == name)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({}, ["jumar[emulator]"]),
        ({"VERSION": "==0.1.0"}, ["jumar[emulator]==0.1.0"]),
        ({"INDEX": "https://example.org/cpu"}, ["--extra-index-url", "https://example.org/cpu", "jumar[emulator]"]),
        ({"SOURCE": "https://example.org/jumar.whl"}, ["jumar[emulator] @ https://example.org/jumar.whl"]),
        ({"SOURCE": "."}, [".[emulator]"]),
    ],
)
def test_the_action_installs_what_its_inputs_say(inputs: dict[str, str], words: list[str], tmp_path: Path) -> None:
    (tmp_path / "python").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (tmp_path / "python").chmod(0o755)
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "VERSION": "", "SOURCE": "", "INDEX": "", **inputs}
    argv = ["bash", "-euo", "pipefail", "-c", _step("install")["run"]]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["-m", "pip", "install", *words]


def test_inputs_reach_the_shell_as_variables_only() -> None:
    steps = yaml.safe_load((TOP / "action.yml").read_text())["runs"]["steps"]
    assert not [step["name"] for step in steps if "${{" in step.get("run", "")]


def test_every_recipe_builds_the_emulator_before_the_suite() -> None:
    template = yaml.safe_load((TOP / "templates" / "gitlab.yml").read_text())[".jumar"]
    assert template["before_script"][-1] == CHECK == _step("build the emulator")["run"]
    assert f"RUN {CHECK}\n" in (TOP / "templates" / "Dockerfile").read_text()


def test_the_hook_refuses_cuda_and_accepts_what_is_done(jumar: Callable[..., object], tmp_path: Path) -> None:
    hook = yaml.safe_load((TOP / ".pre-commit-hooks.yaml").read_text())[0]
    words = shlex.split(hook["entry"])
    assert words[0] == "jumar" and hook["id"] in GUIDE.read_text()
    bad, good = tmp_path / "bad.py", tmp_path / "good.py"
    bad.write_text('import torch\n\nx = torch.ones(3, device="cuda")\n')
    good.write_text("import os\n\nprint(os.sep)\n")
    assert jumar(*words[1:], bad, good).code == 1  # type: ignore[attr-defined]
    assert jumar(*words[1:], good).code == 0  # type: ignore[attr-defined]


def test_shell_of_the_recipes_is_sound(shellcheck: str, tmp_path: Path) -> None:
    script = tmp_path / "install.sh"
    script.write_text(f"#!/usr/bin/env bash\n{_step('install')['run']}")
    done = subprocess.run([shellcheck, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_both_languages_have_the_same_blocks() -> None:
    for language in ("sh", "python", "yaml", "text"):
        assert _blocks(language) == _blocks(language, GUIDE.with_name("ci.zh-CN.md"))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_the_suite_of_the_guide_passes(tmp_path: Path) -> None:
    pytest.importorskip("torch_npu")
    (tmp_path / "test_guide.py").write_text(_blocks("python")[0])
    argv = [sys.executable, "-m", "pytest", "-q", "--npu=910B3:2", "-p", "no:randomly"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600)
    assert "4 passed" in done.stdout, done.stdout + done.stderr
