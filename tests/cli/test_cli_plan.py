"""`jumar plan` as a user calls it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.cli.steps import Steps
from jumar.machine.plan import host
from jumar.report import plan_json as data

Run = Callable[..., Any]
WISH = (
    "--chip",
    "910B3",
    "--os",
    "openEuler22.03",
    "--arch",
    "aarch64",
    "--python",
    "3.11",
    "--framework",
    "torch==2.6.0",
)


@pytest.fixture(autouse=True)
def _somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never the host that runs the tests."""
    monkeypatch.setattr(host, "read", lambda: host.Host(arch="x86_64", system_name="Test Linux", python="3.11"))


def test_text(jumar: Run, golden: Callable[[str, str], None]) -> None:
    done = jumar("plan", *WISH)
    assert (done.code, done.err) == (0, "")
    golden("plan/910B3-torch-2.6.0.txt", done.out)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("old-torch", "--chip 910A --arch aarch64 --os Ubuntu18.04 --framework torch==1.11.0 --cann 7.0.RC1"),
        ("old-mindspore", "--chip 910A --arch aarch64 --os EulerOS2.8 --framework mindspore==1.2"),
        ("board", "--chip 'Orange Pi AIpro' --os Ubuntu22.04 --framework mindspore==2.5.0"),
        ("no-root", "--chip 910B3 --no-root --framework torch==2.1.0 --cann 8.0.RC2 --with apex"),
    ],
)
def test_whole_plans(name: str, words: str, jumar: Run, golden: Callable[[str, str], None]) -> None:
    done = jumar("plan", *shlex.split(words))
    assert done.code == 0
    golden(f"plan/{name}.txt", done.out)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("public", ("--framework", "torch==2.7.1")),
        ("own", ("--framework", "torch==1.11.0", "--cann", "7.0.RC1")),
        ("mindspore", ("--framework", "mindspore==2.9.0", "--os", "openEuler22.03")),
    ],
)
def test_dockerfiles(name: str, words: tuple[str, ...], jumar: Run, golden: Callable[[str, str], None]) -> None:
    done = jumar("plan", "--chip", "910B3", "--arch", "aarch64", *words, "--format", "dockerfile")
    assert done.code == 0
    golden(f"plan/{name}.dockerfile", done.out)


def test_json(jumar: Run) -> None:
    done = jumar("plan", *WISH, "--json")
    made = json.loads(done.out)
    assert (done.code, made["fits"], made["machine"]["cann"]) == (0, True, "8.5.0")
    assert {"name", "version", "confidence", "source", "note"} == set(made["versions"][0])
    first = ["prerequisites", "system-python", "python-found", "torch-index", "packages", "user"]
    assert [step["id"] for step in made["steps"]][:6] == first
    assert jumar("plan", *WISH, "--format", "json").out == done.out


def _fields(value: Any, path: str = "") -> set[str]:
    if isinstance(value, dict):
        return {name for key, item in value.items() for name in _fields(item, f"{path}.{key}".lstrip("."))}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return {name for item in value for name in _fields(item, f"{path}[]")}
    return {path}


def test_every_field_is_described(jumar: Run, tmp_path: Path) -> None:
    seen = _fields(json.loads(jumar("plan", *WISH, "--json", "--packages", tmp_path).out))
    seen |= _fields(json.loads(jumar("plan", *WISH, "--cann", "7.0.RC1", "--json").out))
    same = {name.replace("machine.", "nearest[].") for name in data.FIELDS if name.startswith("machine.")}
    assert seen - same == set(data.FIELDS) - same


def test_nothing_fits(jumar: Run, golden: Callable[[str, str], None]) -> None:
    done = jumar("plan", *WISH, "--cann", "7.0.RC1")
    assert done.code == 1
    golden("plan/conflict.txt", done.out)
    shown = json.loads(jumar("plan", *WISH, "--cann", "7.0.RC1", "--json").out)
    assert shown["fits"] is False and shown["nearest"][0]["command"].startswith("jumar plan --chip 910B3")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--chip", "910B9"), "error: unknown chip: `910B9`\n\nhint: did you mean `910B4`?\n"),
        (("--os", "ubunut22.04"), "error: unknown system: `ubunut22.04`\n\nhint: did you mean `Ubuntu 22.04`?\n"),
        (("--cann", "8.0.RC9"), "error: unknown CANN: `8.0.RC9`\n\nhint: did you mean `8.0.RC3`?\n"),
        (("--with", "apx"), "error: unknown package: `apx`\n\nhint: did you mean `apex`?\n"),
        (("--format", "shell"), "error: no chip was found on this machine\n\n"
         "hint: name it: `--chip 910B3`; `--list chips` lists them\n"),
        (("--run", "--json"), None),
        (("--prefix", "opt"), None),
        (("--prefix", "/opt/$(id)"), None),
        (("--run",), "error: no chip was found on this machine\n\n"
         "hint: name it: `--chip 910B3`; `--list chips` lists them\n"),
    ],
)  # fmt: skip
def test_mistakes(words: tuple[str, ...], error: str | None, jumar: Run) -> None:
    done = jumar("plan", *words)
    assert done.code == 2
    assert "Traceback" not in done.err
    if error is not None:
        assert (done.out, done.err) == ("", error)


def test_without_a_chip_versions_are_still_told(jumar: Run) -> None:
    done = jumar("plan", "--framework", "torch==2.6.0")
    assert done.code == 0
    assert "no chip was found here" in done.out and "Steps" not in done.out and "torch_npu" in done.out


def test_findings_about_packages(jumar: Run, tmp_path: Path) -> None:
    done = jumar("plan", *WISH, "--packages", tmp_path)
    assert done.code == 1
    assert done.err.count("PL101 error the ") == 5
    refused = jumar("plan", *WISH, "--packages", tmp_path, "--run")
    assert refused.code == 2 and refused.err.startswith("error: PL101 the driver is missing")
    assert not list(tmp_path.iterdir())


def test_extras(jumar: Run) -> None:
    more = ("--python", "3.10", "--with", "apex", "--with", "deepspeed", "--without", "nnal", "--json")
    ids = [step["id"] for step in json.loads(jumar("plan", *WISH, *more).out)["steps"]]
    assert "apex" in ids and "deepspeed" in ids and "nnal" not in ids


@pytest.mark.parametrize("what", ["chips", "systems", "torch", "mindspore", "cann"])
def test_lists(what: str, jumar: Run) -> None:
    done = jumar("plan", "--list", what)
    assert done.code == 0 and len(done.out.splitlines()) > 4


def test_an_extra_that_does_not_exist_is_said(jumar: Run) -> None:
    done = jumar("plan", *WISH, "--with", "apex")
    assert "apex is left out: the tables have none for torch 2.6.0, Python 3.11" in done.out


def test_the_view_of_steps(capfd: pytest.CaptureFixture[str]) -> None:
    with Steps() as view:
        for person in (False, True):
            view.person = person
            view(1, 2, "One [x]", "running")
            view(1, 2, "One [x]", "done")
        view(2, 2, "Two", "skipped")
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err.startswith("[1/2] One [x]\n[1/2] One [x]: done\n")
    assert said.err.endswith("[1/2] One [x]: done\n[2/2] Two: done already\n")


def test_prefix(jumar: Run) -> None:
    assert "ASCEND=${ASCEND:-/opt/Ascend}" in jumar("plan", *WISH, "--prefix", "/opt/Ascend", "--format", "shell").out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("--chip 910B3 --driver 23.0.3 --framework torch==2.9.0", 3, "it is not known whether driver 23.0.3 runs CANN"),
        ("--driver 23.0.3 --framework torch==2.9.0", 3, "it is not known whether driver 23.0.3 runs CANN"),
        ("--chip 910B3 --driver 23.0.3 --cann 9.1.0 --framework none", 1, "nothing fits: "),
        ("--chip 910B3 --driver 25.3.rc1 --cann 8.5.0", 0, "CANN toolkit      8.5.0"),
        ("--chip 950PR_9599 --framework torch", 0, "by product"),
        ("--chip 910B3 --driver 26.1.0 --framework torch==2.9.0", 0, "CANN toolkit      9.1.0"),
        ("--chip 910B3 --driver 26.1.0 --cann 9.2.0 --framework none", 3, "not known"),
        ("--chip 910B3 --cann 9.2.0 --framework torch", 3, "not known"),
        ("--chip 910B3 --framework mindspore==2.8.0", 3, "2.8.0"),
        ("--chip 910B3 --framework torch==2.6.0", 0, "torch_npu"),
    ],
)
def test_what_is_not_known_has_its_own_exit_code(words: str, code: int, said: str, jumar: Run) -> None:
    done = jumar("plan", *shlex.split(words))
    assert done.code == code
    assert said in done.out + done.err
    assert ("PL20" in done.err) == (code == 3)


def test_a_plan_that_is_not_known_to_fit_is_not_run(jumar: Run) -> None:
    done = jumar("plan", "--chip", "910B3", "--cann", "9.2.0", "--framework", "none", "--run")
    assert done.code == 2
    assert done.err.startswith("error: PL201 the driver is not known: no public table pairs CANN 9.2.0 with a driver")
