"""What the user asks for, checked against the tables and turned into constraints on candidates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from jumar.core.compat import dataclass
from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.machine.pairs import Fit, driver_and_cann, least_driver
from jumar.machine.plan.candidates import FRAMEWORKS, PYTHONS, Candidate, candidates, parsed
from jumar.machine.plan.host import Host
from jumar.tables import cann as releases
from jumar.tables import chips, installation
from jumar.tables.installation import System
from jumar.tables.versions import Release

ALIASES = {"pytorch": "torch", "torch-npu": "torch_npu", "cann": "none", "mindspore-ascend": "mindspore"}
ARCHITECTURES = {"x86_64": "x86_64", "amd64": "x86_64", "x86": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


@dataclass(frozen=True, slots=True)
class Constraint:
    """One wish or one fact of the machine: which candidates it allows, and what it is about."""

    name: str
    said: str
    """As the user wrote it, or where it was read."""
    allows: Callable[[Candidate], bool]
    value: Callable[[Candidate], str]
    """What a candidate has in this place."""
    weight: int = 1
    """How hard it is to give up: a version is changed sooner than a machine."""
    wanted: str = ""
    """The version that was asked for, to find near ones."""
    sure: Callable[[Candidate], bool] = lambda one: True
    """Is it known that the candidate fits, rather than not known that it does not?"""

    @property
    def about(self) -> str:
        """The noun for a sentence."""
        nouns = {"chip": "the chip", "arch": "the architecture", "os": "the system", "python": "Python", "cann": "CANN"}
        return nouns.get(self.name, "the driver" if self.name == "driver" else self.said.split()[-1].split("=")[0])


@dataclass(frozen=True, slots=True)
class Requirements:
    """The constraints, and the parts of the answer that they fix at once."""

    framework: str
    constraints: tuple[Constraint, ...]
    system: System | None
    family: str | None
    chip: str | None


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The options as typed; None where nothing was said."""

    chip: str | None = None
    os: str | None = None
    arch: str | None = None
    python: str | None = None
    framework: str | None = None
    cann: str | None = None
    driver: str | None = None
    no_root: bool = False


def build(asked: PlanRequest, host: Host) -> Requirements:
    """Checks every name; what was not asked is taken from the machine where it cannot be changed there."""
    framework, spec = _framework(asked.framework)
    family, chip = _family(asked, host)
    system = _system(asked.os) if asked.os else host.system
    found: list[Constraint | None] = [
        _chip_constraint(family, chip, asked, host),
        _arch(asked, host, family),
        _glibc(asked, host, system),
        _python(asked.python),
        *spec,
        _cann(asked.cann),
        _driver(asked, host, family),
    ]
    return Requirements(framework, tuple(one for one in found if one is not None), system, family, chip)


def _family(asked: PlanRequest, host: Host) -> tuple[str | None, str | None]:
    if asked.chip is None:
        return host.family, host.chip
    plain = asked.chip.strip().lower().removeprefix("ascend").strip()
    if plain == "910b":
        raise UserError(
            "`910B` is ambiguous: npu-smi prints it for a first-generation 910, but it is also used for an Atlas A2",
            "`--chip 910A` for the first, `--chip A2` or the full name, such as `910B3`, for the second",
        )
    family = "A3" if plain in ("910c", "910_93") else installation.find_family(asked.chip)
    if family is None and (what := chips.outside(asked.chip)):
        raise UserError(f"`{asked.chip}` is not in the tables: {what}", _list("families", installation.families()))
    if family is None:
        known = [
            *(name for name in chips.chips() if name != "910B"),
            *installation.families(),
            *(n for f in installation.families().values() for n in f.names),
        ]
        raise UserError(
            f"unknown chip: `{asked.chip}`", did_you_mean(asked.chip, known, _list("families", installation.families()))
        )
    return family, chips.find(asked.chip) or asked.chip


def _chip_constraint(family: str | None, chip: str | None, asked: PlanRequest, host: Host) -> Constraint | None:
    if family is None:
        return None
    said = f"--chip {asked.chip}" if asked.chip else f"the chip of this machine ({chip})"
    return Constraint("chip", said, lambda one: one.family == family, lambda one: one.family, 20)


def _arch(asked: PlanRequest, host: Host, family: str | None) -> Constraint | None:
    only = installation.families()[family].arch if family else ()
    if asked.arch is None and len(only) == 1 and host.arch not in only:
        return None
    given = asked.arch or host.arch
    arch = ARCHITECTURES.get((given or "").lower())
    if arch is None:
        if asked.arch:
            raise UserError(
                f"unknown architecture: `{asked.arch}`",
                did_you_mean(asked.arch, ARCHITECTURES, "`x86_64` or `aarch64`"),
            )
        return None
    said = f"--arch {asked.arch}" if asked.arch else f"the architecture of this machine ({arch})"
    return Constraint("arch", said, lambda one: one.arch == arch, lambda one: one.arch, 10)


def _system(name: str) -> System:
    system = installation.find_system(name)
    if system is None:
        raise UserError(
            f"unknown system: `{name}`",
            did_you_mean(name, installation.systems(), _list("systems", installation.systems())),
        )
    return system


def _glibc(asked: PlanRequest, host: Host, system: System | None) -> Constraint | None:
    glibc = system.glibc if asked.os and system else host.glibc
    if glibc is None:
        return None
    have = Version(glibc)
    said = f"--os {asked.os} (glibc {glibc})" if asked.os else f"the system of this machine (glibc {glibc})"
    return Constraint(
        "os",
        said,
        lambda one: one.glibc is None or parsed(one.glibc) <= have,
        lambda one: f"a system with glibc {one.glibc} or newer" if one.glibc else "any system",
        10,
    )


def _python(given: str | None) -> Constraint | None:
    if given is None:
        return None
    match = re.fullmatch(r"(?:python)?(3\.\d+)(\.\d+)?", given.strip().lower())
    if match is None or match[1] not in PYTHONS:
        raise UserError(f"unknown Python: `{given}`", did_you_mean(given, PYTHONS, _list("versions", PYTHONS)))
    wanted = match[1]
    return Constraint(
        "python", f"--python {given}", lambda one: one.python == wanted, lambda one: one.python, 1, wanted
    )


def _framework(given: str | None) -> tuple[str, list[Constraint]]:
    """`torch`, `torch==2.6.0`, `torch>=2.1,<2.6`, `torch_npu==2.1.0.post8`, `mindspore==2.5.0` or `none`."""
    if given is None:
        return "torch", []
    match = re.fullmatch(r"\s*([A-Za-z][A-Za-z_-]*)\s*(.*?)\s*", given)
    name = match[1].lower() if match else given
    name = ALIASES.get(name.replace("_", "-"), name)
    known = [*FRAMEWORKS, "torch_npu"]
    if match is None or name not in known:
        raise UserError(f"unknown framework: `{given}`", did_you_mean(name, known, _list("frameworks", known)))
    framework = "torch" if name == "torch_npu" else name
    return framework, [_version(given, name, framework, match[2])] if match[2] else []


def _version(given: str, name: str, framework: str, text: str) -> Constraint:
    value = (lambda one: one.row.torch_npu if isinstance(one.row, Release) else "") if name == "torch_npu" else _own
    known = sorted({value(one) for one in candidates(framework)} - {""}, key=Version)
    fitting = _matching(given, text, known)
    if not fitting:
        near = _nearest(re.sub(r"^[<>=~!]+", "", text), known)
        newer = "; what fits it is not known" if near == known[-2:] else ""
        raise UserError(f"no {name} that fits `{given}` is in the tables{newer}", f"the nearest are {_words(near)}")
    wanted = max(fitting, key=Version)
    return Constraint("framework", f"--framework {given}", lambda one: value(one) in fitting, value, 3, wanted)


def _own(one: Candidate) -> str:
    return one.version


def _matching(given: str, text: str, known: list[str]) -> set[str]:
    """The known versions that a specifier allows; `==2.6` also means the patches of 2.6."""
    plain = re.sub(r"^==?\s*", "", text).removesuffix(".*").partition("+")[0]
    if re.fullmatch(r"\d[\w.-]*", plain):
        exact = {version for version in known if _same(version, plain)}
        patches = {version for version in known if version.startswith(f"{plain}.")}
        return (exact or patches) if plain.count(".") > 1 else (patches or exact)
    try:
        specifier = SpecifierSet(text)
    except InvalidSpecifier as error:
        raise UserError(f"not a version range: `{given}`", "such as `torch==2.6.0` or `torch>=2.1,<2.6`") from error
    return {version for version in known if specifier.contains(version, prereleases=True)}


def _same(version: str, given: str) -> bool:
    try:
        return Version(version) == Version(given)
    except InvalidVersion:
        return False


def _nearest(text: str, known: list[str]) -> list[str]:
    """The known versions around one that is none of them."""
    match = re.match(r"\d+(\.\d+)*", text)
    if match is None:
        return known[-3:]
    below = [version for version in known if Version(version) < Version(match[0])]
    return [*below[-2:], *known[len(below) :][:2]]


def _cann(given: str | None) -> Constraint | None:
    if given is None:
        return None
    cann = releases.find(given)
    newest = releases.known()[-1]
    if cann is None and re.fullmatch(r"\d+\.\d+\.\d+", given) and releases.key(given) > releases.key(newest):
        message = f"CANN {given} is newer than all that the tables know: what fits it is not known"
        raise UserError(message, f"`jumar plan --cann {newest}` plans for the newest that is")
    if cann is None:
        raise UserError(f"unknown CANN: `{given}`", did_you_mean(given, releases.known(), f"the newest is `{newest}`"))
    return Constraint("cann", f"--cann {given}", lambda one: one.cann == cann, lambda one: one.cann, 2, cann)


def _driver(asked: PlanRequest, host: Host, family: str | None) -> Constraint | None:
    """A driver that was asked for, or the one that is there and cannot be changed without root."""
    driver = asked.driver or (host.driver if asked.no_root else None)
    if driver is None:
        return None
    if not re.fullmatch(r"\d+(\.\w+)+", driver):
        kits = [kit.hdk for kit in releases.kits().values() if kit.hdk]
        raise UserError(f"not a driver version: `{driver}`", did_you_mean(driver, kits, f"such as `{kits[0]}`"))
    said = (
        f"--driver {driver}" if asked.driver else f"the driver of this machine ({driver}), which only root can change"
    )

    def fit(one: Candidate) -> Fit:
        return driver_and_cann(driver, one.cann, family or "").fit

    return Constraint(
        "driver",
        said,
        lambda one: fit(one) is not Fit.DOES_NOT,
        lambda one: f"driver {least} or newer" if (least := least_driver(one.cann)) else "a driver that no table names",
        5,
        sure=lambda one: fit(one) is Fit.FITS,
    )


def _list(what: str, names: Iterable[str]) -> str:
    return f"{what}: {', '.join(names)}"


def _words(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
