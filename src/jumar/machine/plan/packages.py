"""The vendor's package files of a plan: their names, addresses, and whether a folder holds the right ones.

Installers are makeself archives: shell text with a payload behind it, which check themselves with `--check`.
"""

from __future__ import annotations

import fnmatch
import re
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path

from jumar.core import read
from jumar.core.compat import dataclass
from jumar.core.errors import cannot, reason
from jumar.core.finding import Finding, Level, Where
from jumar.machine.plan.candidates import Candidate
from jumar.runtime import process
from jumar.tables import cann as releases
from jumar.tables import installation
from jumar.tables.installation import Family, System

HEAD = 65536
TIMEOUT = 900
TITLES = {
    "driver": "driver",
    "firmware": "firmware",
    "toolkit": "CANN toolkit",
    "ops": "operator package",
    "nnal": "acceleration library (nnal)",
}


@dataclass(frozen=True, slots=True)
class Package:
    """One file to download; a name with `*` stands for a number that is not in the tables."""

    kind: str
    file: str
    url: str | None
    page: str
    confidence: str
    inner: str | None = None
    """The installer inside, where the file is an archive."""
    found: Path | None = None
    version: str | None = None
    """The version that its version file will show; None where only the file's name tells."""

    @property
    def title(self) -> str:
        return TITLES[self.kind]

    @property
    def installer(self) -> str:
        return self.inner or self.file


def needed(one: Candidate, system: System | None, kinds: tuple[str, ...]) -> tuple[Package, ...]:
    """The files of these kinds in the order of installation; kinds that the release does not have are left out."""
    return tuple(package for kind in kinds if (package := _package(kind, one, system)) is not None)


def _package(kind: str, one: Candidate, system: System | None) -> Package | None:
    family = installation.families()[one.family]
    if kind in ("driver", "firmware"):
        return _kit(kind, one, family, system)
    row = installation.file_name(kind, family, one.cann)
    if row is None:
        return None
    file = row["file"].format(v=one.cann, arch=one.arch, chip=family.ops)
    inner = row["archive"].format(v=one.cann, arch=one.arch) if "archive" in row else None
    page = installation.address("cann_page")
    old = [row for row in releases.old_packages(one.cann) if row["kind"] == kind and _same_arch(row["file"], one.arch)]
    if inner and old:
        have = old[0]["cann"]
        return Package(
            kind, old[0]["file"], old[0].get("url"), page, "official", inner.replace(one.cann, have), version=have
        )
    known = releases.address(one.cann, kind, family.ops if kind == "ops" else "")
    url = known or (None if inner else installation.address("cann").format(v=one.cann, file=file))
    trust = "official" if known else "low"
    return Package(kind, file, url.format(arch=one.arch) if url else None, page, trust, inner, version=one.cann)


def _kit(kind: str, one: Candidate, family: Family, system: System | None) -> Package | None:
    page = installation.address("hdk_page")
    hdk = one.hdk if family.name != "950" else None
    row = installation.file_name(kind, family, one.cann)
    if row is None:
        return _old_kit(kind, one, system, page)
    firmware = releases.firmware_for(hdk, family.hdk.upper()) if hdk else None
    file = row["file"].format(chip=family.hdk, hdk=(hdk or "*").lower(), arch=one.arch, firmware=firmware or "*")
    url = installation.address("hdk").format(hdk=hdk, file=file) if hdk and "*" not in file else None
    return Package(kind, file, url, page, "low", version=firmware if kind == "firmware" else hdk)


def _old_kit(kind: str, one: Candidate, system: System | None, page: str) -> Package | None:
    """One archive holds driver and firmware; some are made for one system."""
    rows = [row for row in releases.old_packages(one.cann) if row.get("family") == one.family]
    rows = [row for row in rows if row["kind"] == "driver" and _same_arch(row["file"], one.arch)]
    here = f"_{system.id}{system.release}-" if system else "_linux-"
    rows.sort(key=lambda row: (here not in row["file"], "_linux-" not in row["file"], "A800" not in row["file"]))
    if not rows:
        return Package(kind, f"*-npu-{kind}_*.run", None, page, "low")
    inner = f"*-npu-{kind}_*{one.arch}*.run" if kind == "driver" else f"*-npu-{kind}_*.run"
    return Package(kind, rows[0]["file"], rows[0].get("url"), page, "official", inner)


def _same_arch(file: str, arch: str) -> bool:
    return arch in file.replace("x86-64", "x86_64")


def inspect(folder: Path, packages: tuple[Package, ...]) -> tuple[tuple[Package, ...], list[Finding]]:
    """Looks for every package in a folder: found ones get their path, the others a finding with the address."""
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    except OSError as error:
        raise cannot(f"read `{folder}`", error, "`--packages` takes a folder") from error
    placed, findings = [], []
    for package in packages:
        path = _pick(folder, names, package)
        placed.append(replace(package, found=path))
        findings += [_missing(folder, names, package)] if path is None else _verified(path)
    return tuple(placed), findings


def _pick(folder: Path, names: list[str], package: Package) -> Path | None:
    """The installer itself comes before the archive that holds it; of several the highest number."""
    for pattern in (package.inner, package.file):
        fitting = [name for name in names if pattern and fnmatch.fnmatchcase(name.lower(), pattern.lower())]
        if fitting:
            return folder / max(fitting, key=releases.key)
    return None


def _missing(folder: Path, names: list[str], package: Package) -> Finding:
    """Says what is near: the same package for another machine or version is the usual mistake."""
    title = package.title
    where = package.url if package.url and package.confidence == "official" else package.page
    fix = f"download `{package.file}` from {where}"
    stem = re.split(r"[_*]", package.file)[0]
    near = [name for name in names if name.lower().startswith(stem.lower()) and name.endswith((".run", ".zip"))]
    near += [name for name in names if _kind(name) == package.kind and name not in near]
    if not near:
        return Finding("PL101", Level.ERROR, f"the {title} is missing: `{package.file}`", Where(str(folder)), fix)
    other = near[-1]
    why = _difference(other, package.file)
    return Finding(
        why[0], Level.ERROR, f"`{other}` is the {title} {why[1]}; needed: `{package.file}`", Where(str(folder)), fix
    )


def _kind(name: str) -> str | None:
    low = name.lower()
    words = {"npu-driver": "driver", "npu-firmware": "firmware", "cann-toolkit": "toolkit", "nnal": "nnal"}
    found = next((kind for word, kind in words.items() if word in low), None)
    return found or ("ops" if "cann-kernels" in low or "-ops_" in low else None)


def _difference(have: str, want: str) -> tuple[str, str]:
    for arch, other in (("x86_64", "aarch64"), ("aarch64", "x86_64")):
        if arch in have and other in want:
            return "PL102", f"for another architecture ({arch})"
    chip = r"(?:hdk|kernels|cann)-(\d+[a-z]*|A3)|(Atlas-A3)"
    mine, theirs = re.search(chip, have), re.search(chip, want)
    if mine and theirs and mine[0] != theirs[0]:
        return "PL103", "of another chip"
    return "PL103", "of another version"


def _verified(path: Path) -> list[Finding]:
    broken = _broken_archive(path) if path.suffix == ".zip" else _broken_installer(path)
    if broken is None:
        return []
    fix = "download it again; a partial download or an error page saved under this name are the usual causes"
    return [Finding("PL104", Level.ERROR, f"`{path.name}` is damaged: {broken}", Where(str(path)), fix)]


def _broken_archive(path: Path) -> str | None:
    try:
        with zipfile.ZipFile(path) as archive:
            if read.is_bomb(path.stat().st_size, sum(member.file_size for member in archive.infolist())):
                return f"it would unpack to more than {read.RATIO} times its size"
            bad = archive.testzip()
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError, zlib.error) as error:
        return f"it is not a readable archive ({reason(error)})"
    return f"`{bad}` in it does not match its checksum" if bad else None


def _broken_installer(path: Path) -> str | None:
    """Its own `--check`; what is no installer is never started."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        return f"it cannot be read ({reason(error)})"
    if not head.startswith(b"#!") or b"akeself" not in head:
        return "it is not an installer (a makeself archive)"
    try:
        done = process.run(["bash", str(path), "--check"], timeout=TIMEOUT)
    except process.Late:
        return f"its self-check took more than {TIMEOUT} s"
    if done.code == 0:
        return None
    return f"its self-check failed: {done.last or 'no message'}"
