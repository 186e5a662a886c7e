"""`jumar.api`: the same answers as the commands give, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

import jumar.api as api

TOP = Path(__file__).parents[1]
GUIDE = TOP / "docs" / "guides" / "api.md"
HEAVY = ["torch", "numpy", "yaml", "rich", "click", "jinja2", "packaging", "multiprocessing"]
TIMED = {"seconds"}
"""Fields that are another number in each run."""


def _blocks(guide: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", guide.read_text(encoding="utf-8"), re.M | re.S)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the guide names: the examples, two records and a profile."""
    for folder in ("compare", "perf"):
        monkeypatch.syspath_prepend(str(TOP / "tests" / folder))
    import profiles
    import small

    shutil.copytree(TOP / "examples", tmp_path / "examples")
    small.run(tmp_path / "records" / "before")
    shutil.copytree(tmp_path / "records" / "before", tmp_path / "records" / "after")
    calls = [*profiles.chain("aten.add.Tensor", "aten.mul.Tensor"), profiles.item(), *profiles.update()]
    profiles.folder(tmp_path / "profile", calls * 3)
    monkeypatch.chdir(tmp_path)
    return tmp_path


CALLS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "migrate": (lambda: api.migrate("examples/shapes", cache=False), ["migrate", "examples/shapes", "--no-cache"]),
    "analyze": (lambda: api.analyze("examples/shapes", cache=False), ["analyze", "examples/shapes", "--no-cache"]),
    "doctor": (lambda: api.doctor(only=["python"]), ["doctor", "--only", "python"]),
    "plan": (lambda: api.plan(chip="910B3", os="Ubuntu22.04"), ["plan", "--chip", "910B3", "--os", "Ubuntu22.04"]),
    "conflict": (
        lambda: api.plan(framework="torch==2.6.0", cann="7.0.RC1"),
        ["plan", "--framework", "torch==2.6.0", "--cann", "7.0.RC1"],
    ),
    "explain": (lambda: api.explain("507015", "PT101"), ["explain", "507015", "PT101"]),
    "compare": (lambda: api.compare("records/before", "records/after"), ["compare", "records/before", "records/after"]),
    "perf": (lambda: api.perf("profile"), ["perf", "read", "profile"]),
    "parallel": (lambda: api.parallel("llama-7b", cards=8), ["parallel", "llama-7b", "--cards", "8"]),
}


def _plain(value: Any) -> Any:
    """As JSON has it, without what no two runs share."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if key not in TIMED}
    return [_plain(item) for item in value] if isinstance(value, list) else value


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("name", CALLS)
def test_results_are_the_documents_of_the_commands(name: str, jumar: Any) -> None:
    call, words = CALLS[name]
    document = json.loads(json.dumps(call().to_json()))
    assert _plain(document) == _plain(json.loads(jumar(*words, "--json").out))


@pytest.mark.usefixtures("project")
def test_nothing_is_printed_or_left_behind(capfd: pytest.CaptureFixture[str]) -> None:
    before = dict(os.environ), os.getcwd(), {number: signal.getsignal(number) for number in signal.valid_signals()}
    shown = [repr(call()) for call, _ in CALLS.values()]
    after = dict(os.environ), os.getcwd(), {number: signal.getsignal(number) for number in signal.valid_signals()}
    assert after == before
    assert tuple(capfd.readouterr()) == ("", "")
    assert all(len(text) < 300 for text in shown)


@pytest.mark.usefixtures("project")
def test_findings_are_those_of_the_document() -> None:
    for name in ("migrate", "analyze"):
        result = CALLS[name][0]()
        assert [item.id for item in result.findings] == [row["id"] for row in result.to_json()["findings"]]
    perf = api.perf("profile")
    assert [item.id for item in perf.findings] == [item.id for item in perf.advice]
    places = [f"{item.where.path}:{item.where.line}" if item.where else "" for item in perf.findings]
    assert any(places) and places == [item.where for item in perf.advice]


@pytest.mark.usefixtures("project")
def test_a_copy_is_migrated_and_the_original_kept() -> None:
    text = Path("examples/shapes/train.py").read_bytes()
    result = api.migrate("examples/shapes", out="copy")
    assert Path("examples/shapes/train.py").read_bytes() == text
    assert "examples/shapes/train.py" in result.changed
    assert b"npu" in Path("copy/train.py").read_bytes()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: api.analyze("no/such/folder"), "no such file or folder: `no/such/folder`"),
        (lambda: api.analyze(), "nothing to migrate: no path given"),
        (lambda: api.migrate("a", write=True, out="b"), "`write` and `out` cannot go together"),
        (lambda: api.explain(), "nothing to explain"),
        (lambda: api.explain("-"), "`-` needs a stream to read"),
        (lambda: api.doctor(only=["nothing"]), "no such check: `nothing`"),
        (lambda: api.plan(extra=["nothing"]), "unknown package: `nothing`"),
        (lambda: api.compare("a", "b", precision="half"), "`--precision half` is not known"),
        (lambda: api.perf("no/such/profile"), "no such"),
        (lambda: api.parallel("no-such-model"), "no-such-model"),
    ],
)
def test_mistakes_are_user_errors(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(api.UserError) as caught:
        call()
    assert message in caught.value.message


def test_what_does_not_fit_has_no_script() -> None:
    result = api.plan(framework="torch==2.6.0", cann="7.0.RC1")
    assert not result.fits
    assert result.text.startswith("nothing fits: ")
    with pytest.raises(api.UserError, match="nothing fits"):
        result.shell()


def test_importing_it_loads_nothing_heavy() -> None:
    code = f"import sys, jumar.api; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


@pytest.mark.usefixtures("project")
def test_blocks_of_the_guide_run(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for block in _blocks(GUIDE):
        exec(compile(block, str(GUIDE), "exec"), names)
    out = capsys.readouterr().out
    assert "no such file or folder: `no/such/folder`" in out
    assert "+++ b/examples/shapes/train.py" in out
    assert Path("examples-npu/model.py").is_file()
    assert names["script"].startswith("#!/usr/bin/env bash\n")
    compile(names["program"], "program.py", "exec")


def test_both_languages_have_the_same_blocks() -> None:
    assert _blocks(GUIDE) == _blocks(GUIDE.with_name("api.zh-CN.md"))


def test_the_package_says_that_it_is_typed() -> None:
    """Without the marker of PEP 561 a type checker takes every value of `jumar.api` for Any."""
    assert resources.files("jumar").joinpath("py.typed").is_file()
