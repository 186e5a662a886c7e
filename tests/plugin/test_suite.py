"""What `--npu` means: the wish, the machine it gives, and the results of ranks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jumar.app import suite, suite_ranks, suite_record
from jumar.app.suite_ranks import Told
from jumar.core.errors import UserError
from jumar.runtime import npus, refusals, variables
from jumar.runtime.refusals import Kind, Refusal
from program_files import program_file

RANK = [sys.executable, str(program_file(__file__, "rank_result"))]


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with two real NPUs."""
    for name in ("davinci0", "davinci1", "driver"):
        (tmp_path / name).touch()
    monkeypatch.setattr(npus, "DRIVERS", (str(tmp_path / "driver"),))
    monkeypatch.setattr(npus, "DEVICES", f"{tmp_path}/davinci[0-9]*")


@pytest.mark.parametrize(
    ("text", "wish"),
    [("", (None, None)), ("910B3", ("910B3", None)), ("910B3:2", ("910B3", 2)), (":4", (None, 4))],
)
def test_chip_and_cards(text: str, wish: tuple[str | None, int | None]) -> None:
    assert suite.parse(text) == suite.Wish(*wish)


@pytest.mark.parametrize("text", ["910B3:", "910B3:two", "910B3 :2", ":-1"])
def test_what_is_no_wish(text: str) -> None:
    with pytest.raises(UserError, match="is not a chip and a number of cards"):
        suite.parse(text)


def test_cards_are_emulated_where_there_are_none() -> None:
    machine = suite.build(suite.Wish("910b3", 2, "8G"), {})
    assert machine.emulated and machine.cards == 2
    assert machine.where == "jumar: no NPU found, emulating 2 x Ascend910B3 with 8192 MiB each"


def test_real_npus_are_used(real: None) -> None:
    machine = suite.build(suite.Wish(), {})
    assert (machine.emulated, machine.cards, machine.where) == (False, 2, "jumar: using 2 real NPUs")
    assert machine.variables == {"JUMAR_EMULATE": "0"}


@pytest.mark.parametrize("wish", [suite.Wish("910B3"), suite.Wish(cards=2), suite.Wish(memory="8G")])
def test_real_npus_are_never_replaced_silently(real: None, wish: suite.Wish) -> None:
    with pytest.raises(UserError, match="describe emulated NPUs, but this run uses real ones"):
        suite.build(wish, {})
    assert suite.build(wish, {"JUMAR_EMULATE": "1"}).emulated


def test_emulation_can_be_forbidden() -> None:
    machine = suite.build(suite.Wish(), {"JUMAR_EMULATE": "0"})
    assert (machine.emulated, machine.cards) == (False, 0)


def test_words_of_fail_on() -> None:
    assert suite_record.chosen("") == frozenset()
    assert suite_record.chosen("refused, fallback") == {"refused", "fallback"}
    with pytest.raises(UserError, match="unknown word: `fallbacks`"):
        suite_record.chosen("fallbacks")


def test_a_record_of_the_whole_process_gets_what_tests_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tmp_path / "whole"
    monkeypatch.setenv(variables.REFUSAL_FILE.name, str(whole))
    recorder = suite_record.Recorder()
    refusals.note(Kind.FUNCTION, "aclrtFoo")
    test = recorder.next()
    refusals.note(Kind.FALLBACK, "aten::eig")
    assert refusals.read(test) == (Refusal(Kind.FALLBACK, "aten::eig"),)
    recorder.add("a::b", Refusal(Kind.FALLBACK, "aten::eig"))
    result = recorder.result(True, "")
    recorder.close()
    assert result.noted[Refusal(Kind.FUNCTION, "aclrtFoo")] == (suite_record.OUTSIDE,)
    assert variables.REFUSAL_FILE.text() == str(whole) and set(refusals.read(whole)) == set(result.noted)


def test_a_worker_writes_what_is_outside_of_tests_into_the_record_of_its_starter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starter = tmp_path / "starter"
    monkeypatch.setenv(variables.REFUSAL_FILE.name, str(starter))
    recorder = suite_record.Recorder()
    refusals.note(Kind.FUNCTION, "aclrtEarly")
    recorder.join()
    refusals.note(Kind.FUNCTION, "aclrtLate")
    recorder.next()
    refusals.note(Kind.FALLBACK, "aten::eig")
    recorder.add("a::b", Refusal(Kind.FALLBACK, "aten::eig"))
    recorder.close()
    assert [item.name for item in refusals.read(starter)] == ["aclrtEarly", "aclrtLate"]


def test_ranks_are_one_result() -> None:
    good, bad, skip = Told("passed", used=True), Told("failed", "why"), Told("skipped", "no card")
    assert suite_ranks.together([good, good]) == ("passed", "", True)
    assert suite_ranks.together([good, bad]) == ("failed", "rank 1 of 2:\nwhy", True)
    assert suite_ranks.together([skip, skip]) == ("skipped", "no card", False)
    assert suite_ranks.together([skip, good]).outcome == "passed"


@pytest.mark.parametrize(("what", "outcome"), [("pass", "passed"), ("skip", "skipped")])
def test_ranks_leave_their_results(what: str, outcome: str, tmp_path: Path) -> None:
    done = suite_ranks.run([*RANK, what], 2, 60, tmp_path, suite_ranks.environment())
    assert (done.outcome, done.used) == (outcome, True)


def test_a_dead_rank_ends_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite_ranks, "_GRACE", 0.1)
    done = suite_ranks.run([*RANK, "die"], 2, 60, tmp_path, suite_ranks.environment())
    assert done.outcome == "failed"
    assert "rank 1 of 2:\nthe rank ended with exit code 7 and no result\nlast words" in done.text


def test_ranks_that_hang_are_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite_ranks, "_GRACE", 0.1)
    done = suite_ranks.run([*RANK, "hang"], 2, 0.5, tmp_path, suite_ranks.environment())
    assert done.text.count("was stopped: its time was up") == 2
