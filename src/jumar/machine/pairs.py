"""Which versions fit together: one question per pair, three answers, for `plan` and `doctor` alike.

A pair fits where a public table pairs it. It does not where a fact bounds it: a driver that the vendor excludes, or
older than all that a CANN lists; a CANN older than the one a framework was built for. Everything else is unknown:
pairs that the tables only infer (confidence `low`), and a driver older than the one that a CANN was released with, for
that is what goes with it and not the least that it needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import cache
from typing import Any, NamedTuple

from packaging.version import InvalidVersion, Version

from jumar.machine.parse import version_info
from jumar.machine.parse.layout import UnknownLayout
from jumar.tables import cann as releases
from jumar.tables import installation, mindspore_versions, versions, vllm_versions
from jumar.tables.load import table


class Fit(Enum):
    FITS = "fits"
    DOES_NOT = "does not fit"
    UNKNOWN = "unknown"


class Answer(NamedTuple):
    """Whether a pair fits, what the facts say about it in a sentence, and the row they come from."""

    fit: Fit
    why: str
    source: str = ""


class Row(NamedTuple):
    """A release of a framework with what it was made for."""

    version: str
    cann: str
    python: tuple[str, ...]
    confidence: str
    source: str
    torch: str = ""


@cache
def torch_npu(version: str) -> tuple[Row, ...]:
    """The rows of exactly this torch_npu; some releases are paired with two CANN releases."""
    wanted = _version(version)
    rows = [row for row in versions.releases() if wanted is not None and _version(row.torch_npu) == wanted]
    return tuple(Row(row.torch_npu, row.cann, row.python, row.confidence, row.source, row.torch) for row in rows)


@cache
def mindspore(version: str) -> tuple[Row, ...]:
    """The rows of exactly this MindSpore."""
    wanted = _version(version)
    rows = [row for row in mindspore_versions.releases() if wanted is not None and _version(row.mindspore) == wanted]
    return tuple(Row(row.mindspore, row.cann, row.python, row.confidence, row.source) for row in rows)


@cache
def vllm_ascend(version: str) -> tuple[Row, ...]:
    """The row of exactly this vllm-ascend."""
    row = vllm_versions.find(version)
    return (Row(row.vllm_ascend, row.cann, (), "official", vllm_versions.SOURCE, row.torch),) if row else ()


def vllm_and_plugin(vllm: str, plugin: str) -> Answer:
    """vllm-ascend is made for the vLLM of one minor version; builds of other commits cannot be judged."""
    row, here = vllm_versions.find(plugin), _parsed(vllm)
    if row is None or here is None or here.is_devrelease:
        return Answer(Fit.UNKNOWN, f"vllm-ascend {plugin} or vLLM {vllm} is not in the tables")
    told = f"vllm-ascend {plugin} belongs to vLLM {row.vllm}, installed is vLLM {vllm}"
    same = here.release[:2] == Version(row.vllm).release[:2]
    return Answer(Fit.FITS if same else Fit.DOES_NOT, told, vllm_versions.SOURCE)


def torch_npu_for(torch: str) -> str | None:
    """The torch_npu to install beside this torch."""
    row = versions.release_for(torch)
    return row.torch_npu if row else None


@cache
def driver_and_cann(driver: str, cann: str, family: str = "") -> Answer:
    """From CANN's own list, the driver's version file where one was seen, or the driver it was released with."""
    found = releases.find(cann) or cann
    for name in (driver, found):
        if not re.match(r"\d+\.", name):
            return Answer(Fit.UNKNOWN, f"`{name}` is not a version that can be compared")
    if family == "950":
        return _per_product(driver, found)
    answer = _by_release(driver, found)
    return (answer.fit is Fit.FITS and _before_the_chip(driver, family)) or answer


def _by_release(driver: str, found: str) -> Answer:
    listed = _in_list(driver, found) or _excluded_before(driver, found)
    if listed is not None:
        return listed
    for row in _windows():
        if row["driver"].lower() == driver.lower():
            return _in_window(driver, found, row["cann"])
    kit = releases.kit_for(found)
    if kit is not None and kit.hdk is not None:
        return _against_kit(driver, found, kit)
    return Answer(Fit.UNKNOWN, f"no public table pairs CANN {found} with a driver")


def is_older_than_kit(driver: str, cann: str) -> bool:
    """Was the CANN released with a newer driver than this?"""
    kit = releases.kit_for(releases.find(cann) or cann)
    return kit is not None and kit.hdk is not None and _older(driver, kit.hdk)


def least_driver(cann: str) -> str | None:
    """The oldest driver that is known to run a CANN, as a user would ask for it."""
    listed, kit = releases.drivers_for(cann), releases.kit_for(cann)
    return min(listed.fits, key=_start) if listed else kit.hdk if kit else None


@cache
def firmware_and_driver(firmware: str, driver: str) -> Answer:
    """From version files that were seen: the firmware a driver works with."""
    for row in _windows():
        if row["driver"].lower() == driver.lower():
            low, high = row["firmware"]
            return firmware_within(firmware, driver, [version_info.Range(low, high)])
    return Answer(Fit.UNKNOWN, f"no public table says which firmware driver {driver} works with")


def firmware_within(firmware: str, driver: str, windows: Sequence[version_info.Range]) -> Answer:
    """By the ranges of a driver's own version file."""
    shown = ", ".join(f"{window.low} to {window.high}" for window in windows)
    try:
        inside = any(window.holds(firmware) for window in windows)
    except UnknownLayout as unknown:
        return Answer(Fit.UNKNOWN, str(unknown))
    fit = Fit.FITS if inside else Fit.DOES_NOT
    return Answer(fit, f"driver {driver} works with firmware {shown}", "the driver's version.info")


def framework_and_cann(name: str, version: str, rows: Sequence[Row], cann: str) -> Answer:
    """By the rows of the framework: one of them has this CANN, or all of them have newer ones."""
    if not rows:
        return Answer(Fit.UNKNOWN, f"{name} {version} is not in the tables: its CANN is not known")
    belongs = " or ".join(dict.fromkeys(row.cann for row in rows))
    orders = {compare(cann, row.cann) for row in rows}
    same = [row for row in rows if compare(cann, row.cann) == 0]
    if same and same[0].confidence != "low":
        return Answer(Fit.FITS, f"{name} {version} belongs to CANN {belongs}", same[0].source)
    if same:
        why = f"the pair of {name} {version} and CANN {cann} is in no public table ({same[0].source})"
        return Answer(Fit.UNKNOWN, why, same[0].source)
    told = f"{name} {version} belongs to CANN {belongs}, installed is {cann}"
    if orders == {-1}:
        return Answer(Fit.DOES_NOT, f"{told}: functions may be missing", rows[0].source)
    return Answer(Fit.UNKNOWN, f"{told}: whether they work together is not known", rows[0].source)


def torch_and_torch_npu(torch: str, plugin: str, cuda: str = "") -> Answer:
    """By the rows of torch_npu; its number is that of its torch where there is none. `cuda` is what torch is built for.

    torch_npu is compiled against the released CPU build; its installation page names no other.
    """
    rows = torch_npu(plugin)
    wanted = rows[0].torch if rows else base(plugin)
    source = rows[0].source if rows else "the number of torch_npu"
    told = f"torch_npu {plugin} belongs to torch {wanted}, installed is torch {torch}"
    here = _parsed(torch)
    if here is None:
        return Answer(Fit.UNKNOWN, f"{told}, which is not a version that can be compared")
    if here.base_version != base(wanted):
        return Answer(Fit.DOES_NOT, told, source)
    if here.is_prerelease:
        return Answer(Fit.UNKNOWN, f"{told}: a preview; whether they work together is not known", source)
    made_for = f"CUDA {cuda}" if cuda else _made_for(here)
    if made_for:
        why = f"{told}, built for {made_for}: torch_npu is made for the CPU build, of others nothing is known"
        return Answer(Fit.UNKNOWN, why, source)
    return Answer(Fit.FITS, told, source)


def _made_for(torch: Version) -> str:
    """`2.6.0+cu124` says in its local part what it is built for."""
    found = re.match(r"(cu|rocm|xpu)([\d.]*)", torch.local or "")
    return " ".join(({"cu": "CUDA", "rocm": "ROCm", "xpu": "XPU"}[found[1]], found[2])).strip() if found else ""


def python_and_framework(python: str, name: str, version: str, rows: Sequence[Row]) -> Answer:
    """By the tags of the published wheels, or by the installation page."""
    short = ".".join(python.split(".")[:2])
    known = tuple(dict.fromkeys(python for row in rows for python in row.python))
    if not known:
        return Answer(Fit.UNKNOWN, f"{name} {version} is not in the tables: its Python versions are not known")
    fit = Fit.FITS if short in known else Fit.DOES_NOT
    return Answer(fit, f"{name} {version} supports Python {', '.join(known)}; this is {python}", rows[0].source)


def python_and_cann(python: str, cann: str) -> Answer:
    """By the public images of this CANN and the frameworks that belong to it; no page lists what CANN itself needs."""
    found = releases.find(cann) or cann
    short = ".".join(python.split(".")[:2])
    known = sorted(_pythons(found), key=Version)
    if short in known:
        return Answer(Fit.FITS, f"CANN {found} is used with Python {', '.join(known)}")
    if not known:
        return Answer(Fit.UNKNOWN, f"no public page says which Python CANN {found} works with")
    why = f"images of CANN {found}, and frameworks for it, have Python {', '.join(known)}; this is {python}"
    return Answer(Fit.UNKNOWN, f"{why}: whether it works is not known")


@cache
def _pythons(cann: str) -> frozenset[str]:
    tags = (re.fullmatch(rf"{re.escape(cann.lower())}-.+-py(3\.\d+)", tag) for tag in releases.images())
    rows = [(row.cann, row.python) for row in versions.releases()]
    rows += [(row.cann, row.python) for row in mindspore_versions.releases()]
    belong = (python for belongs_to, pythons in rows if compare(cann, belongs_to) == 0 for python in pythons)
    return frozenset((*(tag[1] for tag in tags if tag), *belong))


def compare(installed: str, wanted: str) -> int | None:
    """-1 when the installed CANN is older than the wanted one, 1 when newer, 0 when it fits; None when unknown."""
    if wanted.upper().endswith(".X"):
        start = wanted[:-1].lower()
        if installed.lower().startswith(start):
            return 0
        wanted = f"{wanted[:-1]}0"
    try:
        here, there = version_info.key(_plain(installed)), version_info.key(_plain(wanted))
    except UnknownLayout:
        return None
    return (here > there) - (here < there)


def base(version: str) -> str:
    """`2.6.0.post5` and `2.6.0+cpu` are 2.6.0."""
    parsed = _parsed(version)
    return parsed.base_version if parsed else version


def _before_the_chip(driver: str, family: str) -> Answer | None:
    """Pages that list drivers do not name chips: one that is older than all CANN for a chip may not know it."""
    known = installation.families().get(family)
    kit = releases.kit_for(known.first) if known else None
    if known is None or kit is None or kit.hdk is None or not _older(driver, kit.hdk):
        return None
    why = f"the first CANN for the {family}, {known.first}, was released with driver {kit.hdk}"
    return Answer(Fit.UNKNOWN, f"{why}; no public page says whether the older {driver} knows the chip", kit.source)


def _windows() -> list[dict[str, Any]]:
    """What the version files of some drivers say."""
    rows: list[dict[str, Any]] = table("cann.json")["windows"]
    return rows


def _in_list(driver: str, cann: str) -> Answer | None:
    """What CANN's release notes say of a driver; None where they say nothing."""
    row = releases.drivers_for(cann)
    if row is None:
        return None
    why = f"CANN {cann} lists the drivers {', '.join(row.fits)}"
    if any(releases.in_series(driver, name) for name in row.fits):
        return Answer(Fit.FITS, why, row.source)
    if any(releases.in_series(driver, name) for name in row.does_not):
        return Answer(Fit.DOES_NOT, f"{why}, and excludes {', '.join(row.does_not)}", row.source)
    if row.whole and all(releases.driver_key(driver) < _start(name) for name in (*row.fits, *row.does_not)):
        return Answer(Fit.DOES_NOT, f"{why}; {driver} is older than all of them", row.source)
    return None


def _excluded_before(driver: str, cann: str) -> Answer | None:
    """A driver that an older CANN excludes does not run a newer one either."""
    older = [name for name in releases.known() if releases.key(name) < releases.key(cann)]
    for name in sorted(older, key=releases.key, reverse=True):
        said = _in_list(driver, name)
        if said is not None and said.fit is Fit.DOES_NOT:
            return Answer(Fit.DOES_NOT, f"{said.why}, and CANN {cann} is newer", said.source)
    return None


def _start(series: str) -> tuple[tuple[int, int], ...]:
    """Where a series begins in the order of drivers."""
    return releases.driver_key(series.lower().removesuffix(".x"))


def _in_window(driver: str, cann: str, listed: Sequence[str]) -> Answer:
    """What a driver no longer lists it does not run; of releases that came after it, it cannot speak."""
    why = f"driver {driver} lists CANN {listed[0]} to {listed[-1]}"
    source = "the driver's version.info"
    if cann in listed:
        return Answer(Fit.FITS, why, source)
    keys = sorted(releases.key(name) for name in listed)
    if releases.key(cann) < keys[0] and not _preview_of(cann, listed):
        return Answer(Fit.DOES_NOT, why, source)
    newer = releases.key(cann) > keys[-1]
    return Answer(Fit.UNKNOWN, f"{why}; {cann} came later" if newer else f"{why}, and not {cann}", source)


def _preview_of(cann: str, listed: Iterable[str]) -> bool:
    final = re.sub(r"\.(alpha|beta)\d+$", "", cann, flags=re.I)
    return final != cann and final in listed


def _per_product(driver: str, cann: str) -> Answer:
    """Kits of the 950 are numbered per product, so their order says nothing."""
    kit = releases.kit_for(cann)
    products = kit.products if kit else {}
    numbers = ", ".join(f"{name}: {number}" for name, number in products.items())
    fitting = any(number.lower().split()[0] == driver.lower() for number in products.values())
    if kit is not None and fitting:
        return Answer(Fit.FITS, f"CANN {cann} was released with {numbers}", kit.source)
    if kit is not None and products and all(_older(driver, number.split()[0]) for number in products.values()):
        return Answer(Fit.DOES_NOT, f"CANN {cann} was released with {numbers}", kit.source)
    return Answer(Fit.UNKNOWN, f"drivers of the 950 are numbered per product ({numbers or 'none is known'})")


def _against_kit(driver: str, cann: str, kit: releases.Kit) -> Answer:
    """Newer drivers run it until one drops it; of an older one nobody says that it does not."""
    why = f"CANN {cann} was released with driver {kit.hdk}"
    if _older(driver, str(kit.hdk)):
        return Answer(Fit.UNKNOWN, f"{why}; no public page says whether the older {driver} runs it", kit.source)
    newest = max((kit.hdk for kit in releases.kits().values() if kit.hdk), key=releases.driver_key)
    if _older(newest, driver) and not releases.in_series(driver, f"{newest.rpartition('.')[0]}.X"):
        return Answer(Fit.UNKNOWN, f"{why}; driver {driver} is newer than all that the tables know ({newest})")
    for row in _windows():
        dropped = releases.key(cann) < min(map(releases.key, row["cann"])) and not _preview_of(cann, row["cann"])
        if dropped and _older(row["driver"], driver):
            return Answer(Fit.UNKNOWN, f"driver {row['driver']} no longer lists CANN {cann}, and {driver} is newer")
    return Answer(Fit.FITS, why, kit.source)


def _older(driver: str, than: str) -> bool:
    return releases.driver_key(driver) < releases.driver_key(than)


def _plain(cann: str) -> str:
    """Community editions (`8.0.RC1.beta1`) are the release itself."""
    return re.sub(r"\.beta\d+$", "", cann, flags=re.I)


def _version(text: str) -> Version | None:
    parsed = _parsed(text)
    return Version(parsed.public) if parsed else None


def _parsed(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None
