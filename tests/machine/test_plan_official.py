"""Plans say what the official tables say, row by row; the tables are copied facts under `official/`."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumar.machine.plan import build
from jumar.machine.plan.build import Plan
from jumar.machine.plan.candidates import candidates
from jumar.machine.plan.host import Host
from jumar.machine.plan.request import PlanRequest
from jumar.tables import cann as releases
from jumar.tables.mindspore_versions import MindSpore
from jumar.tables.versions import Release

NOBODY = Host()
NOT_ON_THE_INDEX = {"2.8.0.post1", "2.7.1.post1"}
"""torch_npu versions of the vllm-ascend table that have no published wheel and no row in torch_npu's own table."""
WIDER = {("2.6.0", "3.12"), ("2.9.0", "3.14"), ("2.10.0", "3.14")}
"""Published wheels for a Python that the page does not list."""
NARROWER: set[tuple[str, str]] = set()
"""Python versions of the page without any published wheel."""


def _rows(name: str) -> list[list[str]]:
    text = (Path(__file__).parent / "official" / f"{name}.tsv").read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines() if not line.startswith("#")]


def _plan(framework: str, cann: str | None, chip: str = "910A") -> Plan:
    asked = PlanRequest(chip=chip, arch="aarch64", framework=framework, cann=cann)
    made = build.make(asked, NOBODY, build.PlanOptions())
    assert isinstance(made, Plan), made
    return made


def _version(made: Plan, name: str) -> str | None:
    return next((part.version for part in made.parts if part.name == name), None)


@pytest.mark.parametrize(("torch_npu", "torch", "cann"), _rows("torch_npu"))
def test_every_row_of_torch_npus_own_table(torch_npu: str, torch: str, cann: str) -> None:
    made = _plan(f"torch_npu=={torch_npu}", cann)
    assert isinstance(made.candidate.row, Release)
    assert (_version(made, "torch"), _version(made, "CANN toolkit")) == (torch, cann)
    assert _version(made, "torch_npu") == torch_npu
    assert made.candidate.row.confidence == "official"
    assert made.steps


@pytest.mark.parametrize(("torch_npu", "torch", "cann"), _rows("torch_npu"))
def test_cann_alone_leads_back_to_the_row(torch_npu: str, torch: str, cann: str) -> None:
    """PlanRequest only for torch and CANN, the plan takes the torch_npu of the table."""
    chosen = _plan(f"torch=={torch}", cann).candidate.row
    assert isinstance(chosen, Release)
    same = {row[0] for row in _rows("torch_npu") if row[1:] == [torch, cann]}
    assert chosen.torch_npu in same


@pytest.mark.parametrize(("torch", "pythons"), _rows("torch_python"))
def test_python_versions_of_torch(torch: str, pythons: str) -> None:
    listed = {(torch, python) for python in pythons.split()}
    have = {(one.version, one.python) for one in candidates("torch") if one.version == torch}
    assert have - listed <= WIDER
    assert listed - have <= NARROWER


@pytest.mark.parametrize(("torch_npu", "torch", "cann"), _rows("vllm_ascend"))
def test_every_row_of_vllm_ascend(torch_npu: str, torch: str, cann: str) -> None:
    if torch_npu in NOT_ON_THE_INDEX:
        assert not any(getattr(one.row, "torch_npu", "") == torch_npu for one in candidates("torch"))
        return
    made = _plan(f"torch_npu=={torch_npu}", cann, "910B3")
    assert _version(made, "torch") == torch


@pytest.mark.parametrize(("torch_npu", "torch", "cann", "torchvision", "hdk"), _rows("torchvision_npu"))
def test_every_row_of_torchvision_npu(torch_npu: str, torch: str, cann: str, torchvision: str, hdk: str) -> None:
    """This table gives CANN 8.0.0 an older kit than two others do; an older kit is the lower bound."""
    made = _plan(f"torch_npu=={torch_npu}", cann)
    assert (_version(made, "torch"), _version(made, "torchvision")) == (torch, torchvision)
    driver = _version(made, "driver")
    assert driver is not None
    assert driver == hdk or (cann == "8.0.0" and releases.driver_key(hdk) < releases.driver_key(driver))


@pytest.mark.parametrize(("mindspore", "branch", "cann", "solution", "pythons"), _rows("mindspore"))
def test_every_installation_page_of_mindspore(
    mindspore: str, branch: str, cann: str, solution: str, pythons: str
) -> None:
    made = _plan(f"mindspore=={mindspore}", None if cann == "-" else cann)
    row = made.candidate.row
    assert isinstance(row, MindSpore) and row.mindspore == mindspore
    assert set(row.python) == set(pythons.split())
    assert row.solution is None or row.solution.endswith(f" {solution}")
    if cann != "-":
        assert made.candidate.cann == releases.find(cann)


@pytest.mark.parametrize(("mindspore", "cann", "hdk"), _rows("mindformers"))
def test_every_row_of_mindformers(mindspore: str, cann: str, hdk: str) -> None:
    made = _plan(f"mindspore=={mindspore}", cann, "910B3")
    assert _version(made, "driver") == hdk


@pytest.mark.parametrize(
    ("framework", "cann", "chip"),
    [("torch==1.11.0", "7.0.RC1", "910A"), ("mindspore==1.2", None, "910A"), ("none", "5.0.3", "910A"),
     ("torch", "8.0.0", "310B4"), ("mindspore==2.5.0", "8.0.0", "Orange Pi AIpro"), ("torch", "5.0.3", "910A")],
)  # fmt: skip
def test_old_rows_have_whole_plans(framework: str, cann: str | None, chip: str) -> None:
    made = _plan(framework, cann, chip)
    ids = [step.id for step in made.steps]
    assert ids[0] == "prerequisites" and "toolkit" in ids and "environment" in ids
    assert all(part.confidence and part.source for part in made.parts)
