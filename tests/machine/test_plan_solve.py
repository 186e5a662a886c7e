"""The solver: what it chooses, why nothing fits, and what comes nearest."""

from __future__ import annotations

import itertools

import pytest

from jumar.core.compat import zip
from jumar.core.errors import UserError
from jumar.core.finding import Level
from jumar.machine.plan import build, request
from jumar.machine.plan.build import Plan
from jumar.machine.plan.candidates import Candidate, candidates
from jumar.machine.plan.host import Host
from jumar.machine.plan.request import PlanRequest
from jumar.machine.plan.solve import Conflict, solve


def _solve(host: Host | None = None, **asked: object) -> Candidate | Conflict:
    host = host or Host()
    return solve(request.build(PlanRequest(**asked), host), host)  # type: ignore[arg-type]


def _found(host: Host | None = None, **asked: object) -> Candidate:
    found = _solve(host, **asked)
    assert isinstance(found, Candidate), found
    return found


def test_the_choice_is_new_final_and_trusted() -> None:
    one = _found(chip="910B3", arch="aarch64")
    assert (one.version, one.cann, one.python) == ("2.12.0", "9.1.0", "3.11")


def test_an_inferred_pair_is_taken_only_when_asked_for() -> None:
    made = build.make(PlanRequest(chip="910B3", arch="aarch64", framework="torch==2.13.0"), Host(), build.PlanOptions())
    assert isinstance(made, Plan) and made.candidate.cann == "9.2.0"
    said = {one.id: one for one in made.findings}
    assert set(said) == {"PL201", "PL202"} and {one.level for one in made.findings} == {Level.WARNING}
    assert "is in no public table (inferred: " in said["PL202"].message
    assert "no public table pairs CANN 9.2.0 with a driver" in said["PL201"].message


@pytest.mark.parametrize(
    ("spec", "version"),
    [("torch==2.6", "2.6.0"), ("torch>=2.1,<2.6", "2.5.1"), ("pytorch==2.1.0+cpu", "2.1.0"), ("torch~=2.4.0", "2.4.0"),
     ("torch_npu==2.1.0.post8", "2.1.0"), ("mindspore", "2.10.0"), ("mindspore==1.5", "1.5.2"), ("none", "")],
)  # fmt: skip
def test_spellings_of_a_framework(spec: str, version: str) -> None:
    assert _found(chip="910A", arch="aarch64", framework=spec).version == version


@pytest.mark.parametrize(
    ("chip", "family"),
    [("Ascend910B3", "A2"), ("910b3", "A2"), ("A2", "A2"), ("910C", "A3"), ("Atlas 800T A2", "A2"), ("910A", "910"),
     ("Orange Pi AIpro", "310B"), ("310P3", "310P"), ("Atlas 300I Duo", "310P"), ("950PR_9599", "950")],
)  # fmt: skip
def test_spellings_of_a_chip(chip: str, family: str) -> None:
    assert _found(chip=chip).family == family


@pytest.mark.parametrize(
    "asked",
    [{"chip": "910B9"}, {"chip": "H100"}, {"chip": "910B"}, {"os": "Plan 9"}, {"os": "ubunut22.04"}, {"arch": "riscv"},
     {"python": "2.7"}, {"python": "3.99"}, {"cann": "8.0.RC9"}, {"cann": "eight"}, {"framework": "tourch"},
     {"framework": "torch==2.3.0"}, {"framework": "torch==x"}, {"framework": "torch=>2"}, {"framework": "torch>=99"},
     {"framework": "==2"}, {"framework": ""}, {"driver": "new"}, {"framework": "mindspore==1.4"}],
)  # fmt: skip
def test_unknown_names_are_refused_with_a_way_on(asked: dict[str, str]) -> None:
    with pytest.raises(UserError) as refused:
        _solve(**asked)
    assert refused.value.message and refused.value.hint


def test_the_two_meanings_of_910b_are_told() -> None:
    with pytest.raises(UserError, match="`910B` is ambiguous"):
        _solve(chip="Ascend910B")


def test_nearest_versions_of_an_unknown_one() -> None:
    with pytest.raises(UserError) as refused:
        _solve(framework="torch==2.3.0")
    assert refused.value.hint == "the nearest are `2.1.0`, `2.2.0`, `2.3.1`, `2.4.0`"


def test_why_a_torch_and_a_cann_exclude_each_other() -> None:
    found = _solve(chip="910B3", arch="x86_64", framework="torch==2.6.0", cann="7.0.RC1", python="3.10")
    assert isinstance(found, Conflict)
    assert found.wishes == ("--framework torch==2.6.0", "--cann 7.0.RC1")
    left = {reason.wish: reason.left for reason in found.reasons}
    assert left["--framework torch==2.6.0"] == ("1.11.0", "2.0.1", "2.1.0")
    assert left["--cann 7.0.RC1"] == ("8.1.RC1.alpha002", "8.2.RC1", "8.3.RC1", "8.5.0")
    assert all(reason.sources for reason in found.reasons)
    first, second = found.nearest[:2]
    assert first.changes == (("--cann 7.0.RC1", "8.2.RC1"),)
    assert second.changes == (("--framework torch==2.6.0", "2.0.1"),)


def test_an_old_system_explains_itself_with_glibc() -> None:
    found = _solve(chip="A2", arch="x86_64", framework="torch==2.9.0", os="Ubuntu18.04")
    assert isinstance(found, Conflict)
    assert found.wishes == ("--os Ubuntu18.04 (glibc 2.27)", "--framework torch==2.9.0")
    assert found.nearest[0].candidate.version == "2.6.0"


def test_the_same_torch_can_need_another_glibc_on_another_architecture() -> None:
    assert _found(chip="A2", arch="x86_64", framework="torch==2.6.0", os="Ubuntu18.04").version == "2.6.0"
    assert isinstance(_solve(chip="A2", arch="aarch64", framework="torch==2.6.0", os="Ubuntu18.04"), Conflict)


@pytest.mark.parametrize(
    "asked",
    [{"chip": "310B", "arch": "x86_64"}, {"chip": "A3", "cann": "8.0.0"},
     {"chip": "950", "framework": "torch==2.8.0", "cann": "8.5.0"},
     {"chip": "A2", "framework": "mindspore==1.2"}, {"chip": "A2", "framework": "torch==2.1.0", "python": "3.12"},
     {"chip": "910A", "arch": "x86_64", "framework": "mindspore==2.10.0", "python": "3.9"}],
)  # fmt: skip
def test_a_conflict_is_smallest_and_its_neighbours_work(asked: dict[str, str]) -> None:
    """Without any one of the named wishes there is an answer, and every near set is one."""
    host = Host()
    understood = request.build(PlanRequest(**asked), host)
    found = solve(understood, host)
    assert isinstance(found, Conflict)
    pool = candidates(understood.framework)
    core = [one for one in understood.constraints if one.said in found.wishes]
    for size in range(len(core)):
        for few in itertools.combinations(core, size):
            assert any(all(one.allows(candidate) for one in few) for candidate in pool)
    assert found.nearest
    for near in found.nearest:
        broken = {one.said for one in understood.constraints if not one.allows(near.candidate)}
        assert broken == {said for said, _ in near.changes}
        words = near.command(PlanRequest(**asked)).split()[2:]
        assert isinstance(_solve(**_options(words)), Candidate)


def _options(words: list[str]) -> dict[str, str]:
    return {name.removeprefix("--"): value for name, value in zip(words[::2], words[1::2], strict=True)}


def test_what_is_installed_is_kept_where_it_fits() -> None:
    host = Host(arch="aarch64", family="A2", chip="910B3", cann="8.1.RC1", driver="25.0.rc1.1", python="3.10")
    one = _found(host)
    assert (one.cann, one.python, one.family) == ("8.1.RC1", "3.10", "A2")
    assert _found(host, cann="8.5.0").cann == "8.5.0"


def test_without_root_the_driver_decides() -> None:
    host = Host(arch="aarch64", family="A2", chip="910B3", driver="24.1.rc1")
    assert _found(host, no_root=True).cann == "8.0.RC1"
    found = _solve(host, no_root=True, cann="8.5.0")
    assert isinstance(found, Conflict)
    assert "the driver of this machine (24.1.rc1), which only root can change" in found.wishes


def test_a_container_takes_versions_that_have_a_public_image() -> None:
    asked = PlanRequest(chip="910B3", arch="aarch64", framework="torch==2.7.1")
    made = build.make(asked, Host(glibc="2.17"), build.PlanOptions(container=True))
    assert isinstance(made, Plan) and made.candidate.cann == "9.0.0"
    assert {package.kind for package in made.packages} == {"toolkit", "ops", "nnal"}


def test_an_old_driver_of_an_a2_goes_through_a_step_between() -> None:
    host = Host(arch="aarch64", family="A2", chip="910B3", driver="22.0.3")
    made = build.make(PlanRequest(framework="torch==2.6.0"), host, build.PlanOptions())
    assert isinstance(made, Plan)
    assert any("must first be upgraded to 23.0.RC1" in note for note in made.notes)


def test_a_950_has_a_kit_for_each_product() -> None:
    made = build.make(PlanRequest(chip="950", arch="aarch64"), Host(), build.PlanOptions())
    assert isinstance(made, Plan)
    driver = next(part for part in made.parts if part.name == "driver")
    assert driver.version == "by product" and "Atlas 850 Server: 25.6.RC1" in (driver.note or "")


@pytest.mark.parametrize("name", ["310", "Ascend310", "ascend 310"])
def test_a_chip_outside_of_the_tables_is_named(name: str) -> None:
    with pytest.raises(UserError, match="the first Ascend 310") as error:
        _found(chip=name, framework="torch")
    assert "310P" in (error.value.hint or "")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"cann": "12.0.0"}, "CANN 12.0.0 is newer than all that the tables know"),
        ({"framework": "torch==99.0"}, "no torch that fits `torch==99.0` is in the tables"),
    ],
)
def test_what_is_newer_than_the_tables_is_not_known(asked: dict[str, str], said: str) -> None:
    with pytest.raises(UserError, match="what fits it is not known") as told:
        _solve(**asked)
    assert told.value.message.startswith(said)
