"""Archive, classes and sides of `jumar selftest`, without a process: names are taken out, evidence decides."""

from __future__ import annotations

import getpass
import json
import os
import socket
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.app import selftest, selftest_checks, selftest_scrub, selftest_sides
from jumar.core.errors import UserError
from jumar.machine.smi.result import Card, Process, View
from jumar.report import selftest as report
from jumar.selftest import archive, case, classify, outcome, verdict
from jumar.selftest.classify import Again
from jumar.selftest.result import NOT_RUN, SAME, CaseResult, Difference, Figure, SelfTest
from jumar.tables import tested

MACHINE = {
    "emulated": False,
    "name": "Ascend910B3",
    "memory_mib": 65536,
    "test_cards": 2,
    "torch_npu": tested.pair().torch_npu,
}
CASES = (CaseResult("guide/first-sum", SAME, noise=1e-7), CaseResult("commands/doctor", NOT_RUN, "the time was over"))
FIGURES = (Figure("matmul_float16", 250.0, "TFLOPS", 0.01), Figure("on_card_0", 3.0, "ms", 0.01))


def _test(*differences: Difference, **machine: Any) -> SelfTest:
    return SelfTest({**MACHINE, **machine}, CASES, differences, FIGURES, 61.0, "2026-11-17")


def _write(path: Path, test: SelfTest) -> Path:
    path.write_bytes(archive.pack(test, report.html(test)))
    return path


def test_names_and_addresses_do_not_leave_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "wanglei")
    monkeypatch.setattr(socket, "gethostname", lambda: "train-node-17.lab.example.org")
    private = [
        "wanglei", "train-node-17", "10.20.30.41", "fe80:0:0:1:2aa:ff:fe9a:4ca2", "3c:15:fb:01:02:03", str(tmp_path),
        "2102313LNJ10K9000123", "0000:C1:00.0", "/home/wanglei/project", "/data/wanglei/models",
        os.path.expanduser("~"),
        "4f1b7c1e-9a55-4d0c-8f64-0123456789ab", "wanglei@example.org", "/mnt/nas/secret/run.log", getpass.getuser(),
    ]  # fmt: skip
    told = (
        f"on train-node-17 (10.20.30.41, fe80:0:0:1:2aa:ff:fe9a:4ca2, 3c:15:fb:01:02:03) user wanglei: {tmp_path}/a.py,"
        " Serial Number : 2102313LNJ10K9000123, bus 0000:C1:00.0, /home/wanglei/project/a.py, /data/wanglei/models, "
        "uuid 4f1b7c1e-9a55-4d0c-8f64-0123456789ab, mail wanglei@example.org, /mnt/nas/secret/run.log, "
        f"{os.path.expanduser('~')}/x /usr/local/Ascend/driver/lib64/libdrvdsmi.so: cannot open"
    )
    scrub = selftest_scrub.scrubber(os.environ, [tmp_path])
    row = Difference("guide/first-sum", "error", told, "unknown", told, {"card": {"said": told}, "list": [told]})
    made = archive.scrubbed(_test(row, driver="25.3.0.1"), scrub)
    path = _write(tmp_path / "a.zip", made)
    with zipfile.ZipFile(path) as packed:
        text = "".join(packed.read(name).decode() for name in packed.namelist())
        assert packed.namelist() == [archive.RESULTS, archive.PAGE]
    left = [one for one in private if one in text and one not in ("root", "/root", "/")]
    assert not left
    assert "libdrvdsmi.so: cannot open" in text and tested.pair().torch_npu in text and "&lt;serial&gt;" in text


def test_an_archive_of_a_card_becomes_a_page_and_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jumar: Callable[..., Any]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    path = _write(tmp_path / "a.zip", _test())
    done = jumar("selftest", "read", path)
    assert done.code == 3 and "2 x Ascend910B3 (real cards)" in done.err
    rows = next((tmp_path / "share" / "jumar" / "measured").glob("Ascend910B3-*.toml")).read_text()
    assert 'name = "matmul_float16"' in rows and "on_card_0" not in rows and "selftest archive" in rows
    assert "guide/first-sum" in (tmp_path / "a.html").read_text()


def test_a_side_that_did_not_start_has_a_page_too() -> None:
    row = Difference("start", "missing library", "libhccl.so", "device fault", "cannot be opened")
    page = report.html(SelfTest({"emulated": True}, CASES, (row,), (), 1.0, "2026-11-17"))
    assert "unknown chip" in page and "libhccl.so" in page


def test_an_archive_of_an_emulated_machine_gives_no_rows(tmp_path: Path, jumar: Callable[..., Any]) -> None:
    path = _write(tmp_path / "a.zip", _test(emulated=True))
    done = jumar("selftest", "read", "--data", tmp_path / "rows", path)
    assert "no rows: an emulated machine says nothing about a card" in done.err
    assert not (tmp_path / "rows").exists()
    assert "Nothing on this page is a fact of a real card" in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize("content", [b"", b"PK", None])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, content: bytes | None, jumar: Callable[..., Any]) -> None:
    path = tmp_path / "a.zip"
    if content is None:
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr(archive.RESULTS, json.dumps({"format": 9}))
    else:
        path.write_bytes(content)
    done = jumar("selftest", "read", path)
    assert done.code == 2 and done.err.startswith("error: `") and "Traceback" not in done.err
    assert jumar("selftest", "read", tmp_path / "none.zip").code == 2


def _row(**fields: Any) -> dict[str, Any]:
    return {"kind": "values", "name": "out", "card": [1], "emulator": [2], **fields}


@pytest.mark.parametrize(
    ("row", "again", "class_", "words"),
    [
        (_row(card_right=True, emulator_right=False), Again(), "emulator wrong", "agrees with the card"),
        (_row(card_right=False, emulator_right=True), Again(True, True), "device fault", "no rounding explains"),
        (
            _row(card_right=False, emulator_right=True, as_if="bfloat16"),
            Again(),
            "unknown",
            "as if rounded to bfloat16",
        ),
        (_row(card_right=False, emulator_right=True), Again(False), "device fault", "second process"),
        (_row(), Again(True, False), "device fault", "another card"),
        (_row(), Again(True, True), "unknown", "no third computation"),
        (_row(card_right=False, emulator_right=False), Again(), "unknown", "neither side"),
        (
            _row(kind="data type", part="dtype", card_right=True, emulator_right=False),
            Again(),
            "emulator wrong",
            "card",
        ),
    ],
)
def test_evidence_decides(row: dict[str, Any], again: Again, class_: str, words: str) -> None:
    found = classify.of_values("products/mm/float32", row, again)
    assert found.verdict == class_ and words in found.why


def test_what_every_card_must_do_needs_no_third_computation() -> None:
    units = {unit.id: unit for unit in case.units()}
    refuses = {"state": outcome.ERROR, "error": {"type": "RuntimeError", "said": "shapes"}}
    answers: dict[str, Any] = {"state": outcome.DONE, "error": {}}

    def found(id_: str, card: dict[str, Any], emulator: dict[str, Any]) -> list[str]:
        blank = outcome.Outcome(outcome.DONE)._asdict()
        sides = verdict.Sides({id_: {**blank, **card}}, {id_: {**blank, **emulator}}, {}, {}, {})
        return [f"{row.verdict}: {row.why}" for row in verdict.differences(units[id_], sides)]

    product = "errors/shapes-of-a-product"
    assert found(product, answers, refuses) == ["device fault: torch defines an error for this call on every device"]
    assert found(product, refuses, answers)[0].startswith("emulator wrong: torch defines an error")
    fact = {"name": "time-passes", "kind": "fact", "card": False, "emulator": True}
    judged = {**answers, "judged": {"card": {"differs": [fact]}}}
    assert found("device/events", answers, judged) == ["device fault: it holds on every card by definition"]
    assert found("device/names", answers, judged)[0].startswith("unknown")


def test_documented_limits_are_rows() -> None:
    row = _row(card_right=False, emulator_right=True, as_if="hf32")
    known = classify.of_values("convolutions/conv2d/float32", row, Again(True), "Ascend910B3")
    assert known.verdict == "documented limit" and "hf32-convolution" in known.why
    assert classify.of_values("products/mm/float32", row, Again(True), "Ascend910B3").verdict == "unknown"
    row["as_if"] = "saturation"
    for soc, expected in (("Ascend910A", "documented limit"), ("Ascend910B3", "unknown"), ("", "unknown")):
        assert classify.of_values("elementwise/overflow/float16", row, Again(True), soc).verdict == expected
    refused = classify.of_state("a/b", "error", Again(), refused=("aclnnGcd",), library="", card_fails=False)
    assert refused.verdict == "documented limit" and "jumar emulate coverage aclnnGcd" in refused.why


def test_slow_cards_are_named() -> None:
    def figures(**values: float) -> dict[str, Figure]:
        return {
            name: Figure(name, value, "ms" if name.startswith("on_card") else "TFLOPS", 0.0)
            for name, value in values.items()
        }

    mine = figures(on_card_0=1.0, on_card_1=1.1, on_card_2=3.0, matmul_float16=40.0)
    found = list(verdict.slow(mine, {}, {"matmul_float16": (250.0, "the model")}, emulated=False))
    assert [(row.id, row.verdict) for row in found] == [
        ("speed/cards", "device fault"), ("speed/matmul_float16", "unknown"),
    ]  # fmt: skip
    assert "card 2 takes 2.9 times as long" in found[0].what
    assert not list(verdict.slow(figures(on_card_0=1.0, on_card_1=1.1), {}, {}, emulated=True))


def test_errors_are_compared_without_what_varies() -> None:
    one, other = (outcome.words(f"[PID: {pid}] 0x7f{pid} /tmp/{pid}/a ERR01002 bad type") for pid in (12, 977))
    assert {**one, "said": ""} == {**other, "said": ""} and one["code"] == "ERR01002"
    assert outcome.words("libhccl.so: cannot open shared object file")["library"] == "libhccl.so"
    packed = RuntimeError("Failed to load the backend extension: torch_npu")
    packed.__cause__ = ImportError("libhccl.so: cannot open shared object file: No such file or directory")
    assert outcome.described(packed)["library"] == "libhccl.so"
    assert outcome.words("dlopen libopapi.so.1 not found")["library"] == "libopapi.so.1"


def _card(number: int, *, pid: int = 0, health: str = "OK") -> Card:
    processes = (Process(pid, "python", 900, "other", "", ""),) if pid else ()
    return Card(number, number, 0, "910B3", health, None, 0, 3000, 65536, None, None, processes)


def test_cards_of_others_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    view = View("25.3", (_card(0, pid=41), _card(1), _card(2, health="Alarm"), _card(3)), ())
    monkeypatch.setattr(selftest_sides, "look", lambda environ: view)
    found = selftest_sides._free({}, None)
    assert found.free == (1, 3) and found.taken == {0: "used by process 41", 2: "health is Alarm"}
    assert selftest_sides._free({"ASCEND_RT_VISIBLE_DEVICES": "3,0"}, None).free == (3,)
    assert selftest_sides._free({}, 1).free == (1,)
    with pytest.raises(UserError, match="0 of the cards are free"):
        selftest_sides._free({"ASCEND_RT_VISIBLE_DEVICES": "0"}, None)


def test_the_emulator_gets_a_clean_environment(tmp_path: Path) -> None:
    base = {"PATH": "/bin", "HOME": "/h", "PYTHONPATH": str(tmp_path), "LD_PRELOAD": "a.so", "PLANTED": "x",
            "ASCEND_HOME_PATH": "/a", "LD_LIBRARY_PATH": f"/usr/local/Ascend/lib64:{tmp_path}"}  # fmt: skip
    assert selftest_sides.clean(base) == {"PATH": "/bin", "HOME": "/h", "LD_LIBRARY_PATH": str(tmp_path)}


def test_names_of_a_chip_must_agree() -> None:
    def facts(name: str, torch: str) -> dict[str, Any]:
        return {"names": [name], "torch": torch, "known": [f"Ascend{name}"], "health": ["OK"]}

    emulator = facts("910B3", "Ascend910B3")
    check = next(check for check in selftest_checks.checks() if check.id == "commands/npu-smi")
    assert check.differences(facts("910B3", "Ascend910B3"), emulator) == []
    assert check.differences(facts("910B4", "Ascend910B3"), emulator)[0].verdict == "device fault"
    assert check.differences(facts("910B4", "Ascend910B4"), emulator)[0].verdict == "emulator wrong"


def test_without_a_card_the_command_says_what_to_do(
    jumar: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jumar.runtime.npus.devices", list)
    done = jumar("selftest", "-o", tmp_path / "a.zip")
    assert done.code == 2 and "no NPU found on this machine" in done.err and "jumar selftest --emulated" in done.err
    assert jumar("selftest", "--list", "--only", "guide").out.splitlines() == ["guide/first-sum", "guide/moved-layer"]
    assert jumar("selftest", "--list", "--only", "guidance").code == 2
    done = jumar("selftest", "--emulated", "--resume", "-o", tmp_path / "a.zip")
    assert done.code == 2 and "no unfinished self-test" in done.err
    assert jumar("selftest", "--chip", "910B3").code == 2
    assert selftest.cases(only=["commands"]) == [check.id for check in selftest_checks.checks()]
