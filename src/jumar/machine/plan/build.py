"""A whole plan as one value: versions, files, steps and what to know about them."""

from __future__ import annotations

from dataclasses import field, replace
from pathlib import Path

from jumar.core.compat import dataclass
from jumar.core.finding import Finding
from jumar.machine.pairs import Fit, driver_and_cann, is_older_than_kit
from jumar.machine.plan import packages as files
from jumar.machine.plan import unknowns
from jumar.machine.plan.candidates import Candidate
from jumar.machine.plan.host import Host
from jumar.machine.plan.packages import Package
from jumar.machine.plan.parts import Part, apex, deepspeed, parts
from jumar.machine.plan.prelude import defaults
from jumar.machine.plan.request import PlanRequest, Requirements
from jumar.machine.plan.request import build as understand
from jumar.machine.plan.solve import Conflict, solve
from jumar.machine.plan.step import InstallStep
from jumar.machine.plan.steps import Target, steps
from jumar.tables import cann as releases
from jumar.tables.installation import System
from jumar.tables.versions import Release

LAYERS = ("toolkit", "ops", "nnal")
KIT = ("driver", "firmware")
EXTRAS = ("torchvision", "torchaudio", "nnal", "apex", "deepspeed")
USUAL = ("torchvision", "torchaudio", "nnal")
OLD_A2_DRIVER = "23.0.RC1"


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """How the plan is carried out, beside what is in it."""

    extras: tuple[str, ...] = USUAL
    overwrite: bool = False
    container: bool = False
    packages: Path | None = None
    prefix: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    candidate: Candidate
    chip: str | None
    system: System | None
    no_root: bool
    parts: tuple[Part, ...]
    packages: tuple[Package, ...]
    steps: tuple[InstallStep, ...]
    notes: tuple[str, ...]
    options: PlanOptions
    findings: tuple[Finding, ...] = field(default=())

    @property
    def places(self) -> dict[str, str]:
        """The variables of the steps: where things are found and installed."""
        folder = str(self.options.packages.resolve()) if self.options.packages else None
        return defaults(self.candidate, self.options.prefix, folder, self.no_root)


OWN_NUMBERS = ("950", "310B")
"""Families whose drivers are numbered per product, or come with the board's system image."""


def make(asked: PlanRequest, host: Host, options: PlanOptions) -> Plan | Conflict:
    """The plan for what was asked on this machine, or why there is none."""
    if options.container and asked.os is None:
        host = replace(host, system=None, system_name=None, glibc=None, python=None, cann=None)
    wish = understand(asked, host)
    one = solve(wish, host, container=options.container)
    if isinstance(one, Conflict):
        return one
    target = _target(asked, host, wish, one, options)
    driver = asked.driver or (host.driver if target.keep_driver or asked.no_root else None)
    one = replace(one, driver=driver if one.family not in OWN_NUMBERS else None)
    kinds = LAYERS if asked.no_root or options.container else (*KIT, *LAYERS)
    every = files.needed(one, wish.system, kinds if wish.family else ())
    needed = tuple(package for package in every if _installs(package, one, target, options))
    found = unknowns.findings(one, driver, wish.family or "")
    if options.packages is not None:
        needed, missing = files.inspect(options.packages, needed)
        found += missing
    return Plan(
        one,
        wish.chip,
        wish.system,
        asked.no_root,
        parts(one, every),
        needed,
        steps(one, target, needed) if wish.family else (),
        (*_notes(asked, host, wish, one, target), *_stand_ins(one, needed)),
        options,
        tuple(found),
    )


def _stand_ins(one: Candidate, packages: tuple[Package, ...]) -> list[str]:
    """Some old releases are only there as a patch of themselves."""
    other = [package for package in packages if package.kind == "toolkit" and package.version != one.cann]
    return [f"the public package of CANN {one.cann} is the one of {package.version}" for package in other]


def _target(asked: PlanRequest, host: Host, wish: Requirements, one: Candidate, options: PlanOptions) -> Target:
    """What is installed counts only where the plan is for this very machine."""
    here = host.family is not None and host.family == wish.family
    driver = host.driver if here else None
    keep = driver is not None and asked.driver in (None, driver) and _stays(driver, asked, one)
    overwrite = options.overwrite or (driver is not None and not keep)
    manager = wish.system.manager if wish.system else host.manager or "apt"
    return Target(
        wish.system, manager, asked.no_root, driver, keep and not options.overwrite, overwrite, options.extras
    )


def _stays(driver: str, asked: PlanRequest, one: Candidate) -> bool:
    """Is a driver kept? One that is only too old to be sure of is replaced, where it may be and nobody asked for it."""
    fit = driver_and_cann(driver, one.cann, one.family).fit
    if fit is Fit.UNKNOWN:
        return asked.no_root or asked.driver == driver or not is_older_than_kit(driver, one.cann)
    return fit is Fit.FITS


def _installs(package: Package, one: Candidate, target: Target, options: PlanOptions) -> bool:
    if package.kind in KIT:
        return not target.keep_driver and one.family != "310B"
    return package.kind != "nnal" or ("nnal" in options.extras and one.framework == "torch")


def _notes(asked: PlanRequest, host: Host, wish: Requirements, one: Candidate, target: Target) -> list[str]:
    found = [*_machine_notes(asked, host, wish, target), *_driver_notes(one, target)]
    if one.cann == host.cann and asked.cann is None:
        found.append(f"CANN {one.cann} is installed and kept; `--cann` requests another")
    if isinstance(one.row, Release) and one.row.torch.startswith("1.5"):
        found.append("torch 1.5.0 for Ascend is the vendor's own build, from the same release page as torch_npu")
    for name, known in (("apex", apex(one)), ("deepspeed", deepspeed(one))):
        if name in target.extras and known is None:
            found.append(
                f"{name} is left out: the tables have none for {one.framework} {one.version}, Python {one.python}"
            )
    if wish.family is not None:
        found.append(
            "`--quiet` accepts the vendor's licence; nothing was tried on an NPU, and no address was requested"
        )
    return found


def _machine_notes(asked: PlanRequest, host: Host, wish: Requirements, target: Target) -> list[str]:
    found = []
    if wish.family is None:
        found.append("no chip was found here: `--chip` gives the operator package, the driver and the steps")
    elif host.pci and asked.chip is None:
        found.append(f"the chip was read from the PCI bus ({host.pci}): use `--chip` if this is not an {wish.family}")
    if wish.system is None and host.system_name and not asked.no_root:
        what = f"package names are those of other systems with {target.manager}"
        found.append(f"the system `{host.system_name}` is not in the tables: {what}")
    if wish.system is not None and wish.system.glibc is None and asked.os:
        found.append(f"the glibc of {wish.system.name} is not in the tables: the wheels were not checked against it")
    return found


def _driver_notes(one: Candidate, target: Target) -> list[str]:
    if target.keep_driver:
        if driver_and_cann(str(target.installed_driver), one.cann, one.family).fit is Fit.UNKNOWN:
            return [f"the driver {target.installed_driver} of this machine is kept"]
        return [f"the driver {target.installed_driver} of this machine supports CANN {one.cann} and is kept"]
    if not target.overwrite or not target.installed_driver:
        return []
    found = [f"the driver {target.installed_driver} of this machine is replaced: firmware first, then driver"]
    if one.family == "A2" and releases.driver_key(target.installed_driver) < releases.driver_key(OLD_A2_DRIVER):
        found.append(
            f"a driver this old must first be upgraded to {OLD_A2_DRIVER}: install that kit, then the one of this plan"
        )
    return found
