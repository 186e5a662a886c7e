"""The versions of a plan one by one, each with how sure it is and the source."""

from __future__ import annotations

from typing import Any

from jumar.core.compat import dataclass
from jumar.machine import pairs
from jumar.machine.pairs import Fit
from jumar.machine.plan.candidates import Candidate
from jumar.machine.plan.packages import Package
from jumar.tables import cann as releases
from jumar.tables import installation, versions
from jumar.tables.installation import Family
from jumar.tables.load import table
from jumar.tables.mindspore_versions import MindSpore
from jumar.tables.versions import Release

APEX = "Ascend/apex README.zh.md"
DEEPSPEED = "deepspeedai/DeepSpeed accelerator setup guide; gitee.com/ascend/DeepSpeed"
CANN_PYTHON = "hicann/runtime README.md (CANN asks for 3.7 or newer)"


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of software; version None says that the tables do not know it."""

    name: str
    version: str | None
    confidence: str
    source: str
    note: str | None = None


def parts(one: Candidate, packages: tuple[Package, ...]) -> tuple[Part, ...]:
    """Everything from the driver up, as the tables have it."""
    found = [*_kit(one), *_cann(one, packages), _python(one)]
    if isinstance(one.row, Release):
        found += _torch(one, one.row)
    elif isinstance(one.row, MindSpore):
        found += _mindspore(one.row)
    return tuple(found)


def apex(one: Candidate) -> dict[str, Any] | None:
    """The branch of Ascend's apex for this torch, where its read-me lists this Python."""
    row = _for_torch("apex", one)
    return row if row and one.python in row["python"] else None


def deepspeed(one: Candidate) -> dict[str, Any] | None:
    return _for_torch("deepspeed", one)


def _for_torch(name: str, one: Candidate) -> dict[str, Any] | None:
    rows = table("installation.toml")[name] if one.framework == "torch" else []
    return next((row for row in rows if row["torch"] in (one.version, one.version.partition(".")[0])), None)


def _kit(one: Candidate) -> list[Part]:
    family = installation.families()[one.family]
    kit = releases.kit_for(one.cann)
    if one.driver is not None and (kit is None or (kit.hdk or "").lower() != one.driver.lower()):
        return _other_kit(one.driver, one, family)
    if kit is None or kit.hdk is None:
        source = "no public pair of this CANN and a driver kit"
        return [Part(name, None, "low", source, installation.address("hdk_page")) for name in ("driver", "firmware")]
    if family.name == "950":
        each = "; ".join(f"{product}: {version}" for product, version in kit.products.items()) or None
        number = "by product" if each else None
        return [Part(name, number, kit.confidence, kit.source, each) for name in ("driver", "firmware")]
    firmware = releases.firmware_for(kit.hdk, family.hdk.upper())
    note = family.note
    seen = (
        "the number observed with this kit" if firmware else "the firmware package of the same kit has its own number"
    )
    return [
        Part("driver", kit.hdk, kit.confidence, kit.source, note),
        Part("firmware", firmware or f"of kit {kit.hdk}", "medium" if firmware else kit.confidence, kit.source, seen),
    ]


def _other_kit(driver: str, one: Candidate, family: Family) -> list[Part]:
    """A driver that was asked for or stays, and what is known of it and this CANN."""
    answer = pairs.driver_and_cann(driver, one.cann, one.family)
    trust = "official" if answer.fit is Fit.FITS else "low"
    firmware = releases.firmware_for(driver, family.hdk.upper())
    return [
        Part("driver", driver, trust, answer.source or "in no public table", answer.why),
        Part("firmware", firmware or f"of kit {driver}", trust, answer.source or "in no public table", family.note),
    ]


def _cann(one: Candidate, packages: tuple[Package, ...]) -> list[Part]:
    family = installation.families()[one.family]
    trust, source = (one.row.confidence, one.row.source) if one.row else (family.confidence, family.source)
    kinds = {package.kind: package for package in packages}
    found = [Part("CANN toolkit", one.cann, trust, source), _operators(one, family, trust, kinds.get("ops"))]
    if "nnal" in kinds:
        found.append(
            Part(
                "nnal",
                one.cann,
                trust,
                "Ascend/cann-container-image",
                "optional: ATB for large models",
            )
        )
    return found


def _operators(one: Candidate, family: Family, trust: str, package: Package | None) -> Part:
    name = "operator package"
    row = installation.file_name("ops", family, one.cann)
    if row is None:
        return Part(name, "in the toolkit", "official", family.source, "its own package from 6.3.RC1 on")
    if package is None:
        return Part(name, one.cann, trust, family.source, "one for each chip family")
    return Part(name, one.cann, row.get("confidence", trust), family.source, package.file)


def _python(one: Candidate) -> Part:
    if isinstance(one.row, MindSpore) and one.python in one.row.exact_python:
        return Part("Python", one.row.exact_python[one.python], one.row.confidence, one.row.source, "exactly this one")
    source = one.row.source if one.row else CANN_PYTHON
    if isinstance(one.row, Release) and one.row.published:
        source = "tags of the published wheel"
    return Part("Python", one.python, one.row.confidence if one.row else "medium", source)


def _torch(one: Candidate, row: Release) -> list[Part]:
    pin = row.pin.get(one.arch)
    pinned = f"the wheel asks for torch=={pin}" if pin else None
    where = None if row.published else "not on the public index: a wheel of the vendor's release page"
    found = [
        Part("torch", row.torch, row.confidence, row.source, pinned),
        Part("torch_npu", row.torch_npu, row.confidence, row.source, where),
    ]
    pair = versions.companions().get(row.torch, {})
    for name in ("torchvision", "torchaudio"):
        if name in pair:
            found.append(Part(name, pair[name], "official", "the package's own metadata and numbering"))
    patch, speed = apex(one), deepspeed(one)
    if patch:
        found.append(
            Part(
                "apex",
                f"branch {patch['branch']}",
                "medium",
                APEX,
                "built from source; `apex` on the public index is another package",
            )
        )
    if speed:
        found.append(Part("deepspeed", speed["version"], speed["confidence"], DEEPSPEED, speed["note"]))
    return found


def _mindspore(row: MindSpore) -> list[Part]:
    note = f"for mindformers {row.mindformers}" if row.mindformers else row.solution
    return [Part("mindspore", row.mindspore, row.confidence, row.source, note)]
