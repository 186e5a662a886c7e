"""`jumar selftest`: the same cases on the cards of this machine and on the emulator, and what differs."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumar.app.talk import Tell, silent
from jumar.core import read as contents
from jumar.core.compat import dataclass
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK, EXIT_UNKNOWN, UserError, cannot

if TYPE_CHECKING:
    from jumar.selftest.case import Unit
    from jumar.selftest.result import SelfTest

MINUTES = 20.0
ARCHIVE = "jumar-selftest.zip"
_SETTINGS = "settings.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTestRequest:
    """What to test, how long, and where to leave the archive."""

    emulated: bool = False
    """On emulated cards: proves the way, says nothing about a card."""
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    cards: int | None = None
    """Use at most so many; all that are free otherwise, two emulated ones."""
    soc: str | None = None
    """Emulated chip."""
    minutes: float = MINUTES
    patience: float = 180.0
    """Seconds for one case."""
    memory_mib: int = 8192
    """Host memory of one process."""
    resume: bool = False
    out: Path = Path(ARCHIVE)


@dataclass(frozen=True, slots=True, repr=False)
class SelfTestResult:
    """The test, the files that hold it, and rows that were written from it."""

    test: SelfTest
    files: tuple[Path, ...] = ()
    rows: Mapping[str, Any] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """0 all the same, 1 differences, 3 nothing differs as far as it came."""
        if self.test.differences:
            return EXIT_FINDINGS
        return EXIT_OK if self.test.complete else EXIT_UNKNOWN

    def html(self) -> str:
        """One self-contained page."""
        from jumar.report import selftest

        return selftest.html(self.test)

    def to_json(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        from jumar.report import json as reports

        files = {"files": [str(path) for path in self.files], "measured": dict(self.rows)}
        return reports.document({"kind": "selftest", **self.test.document(), **files})

    def __repr__(self) -> str:
        return f"<SelfTestResult {len(self.test.cases)} cases, {len(self.test.differences)} differences>"


def cases(only: Sequence[str] = (), skip: Sequence[str] = ()) -> list[str]:
    """The ids of the cases, commands included."""
    units, checks = _chosen(only, skip)
    return [*(unit.id for unit in units), *(check.id for check in checks)]


def run(request: SelfTestRequest, tell: Tell = silent) -> SelfTestResult:
    """Run the cases on both sides, compare them, write archive and page."""
    from jumar.app import selftest_sides as sides
    from jumar.selftest.run import Plan, Run
    from jumar.selftest.side import Limits

    units, checks = _chosen(request.only, request.skip)
    if units:
        _needs_torch()
    card, free = sides.card(emulated=request.emulated, soc=request.soc, cards=request.cards)
    for number, reason in free.taken.items():
        tell(f"card {number} is left alone: {reason}")
    place = _place(request, [unit.id for unit in units], len(free.free))
    if units:
        _prepare()
    limits = Limits(time.monotonic() + 60 * request.minutes, request.patience, request.memory_mib)
    plan = Plan(units, checks, card, lambda machine: sides.emulator(machine, len(free.free)), len(free.free), place,
                limits, _expected)  # fmt: skip
    found = Run(plan, tell).run()
    found = found._replace(machine={**_versions(card.environ), **found.machine})
    return _written(request, found, place, _scrub(card.environ, place))


def _chosen(only: Sequence[str], skip: Sequence[str]) -> tuple[list[Unit], list[Any]]:
    """Units and commands; a word that means neither is a mistake."""
    import fnmatch

    from jumar.app import selftest_checks
    from jumar.selftest import case

    checks = selftest_checks.checks()
    split: list[list[list[str]]] = []
    for words in (only, skip):
        mine: list[list[str]] = [[], []]
        for word in (part.strip() for text in words for part in text.split(",") if part.strip()):
            hit = [check.id for check in checks if fnmatch.fnmatch(check.id, word) or check.id.startswith(f"{word}/")]
            mine[1] += hit
            if not hit or any(fnmatch.fnmatch(unit.id, word) for unit in case.units()):
                mine[0].append(word)
        split.append(mine)
    (units_only, checks_only), (units_skip, checks_skip) = split
    units = [] if checks_only and not units_only else case.chosen(units_only, units_skip)
    kept = [check for check in checks if check.id not in checks_skip and (check.id in checks_only or not any(split[0]))]
    return units, kept


def _needs_torch() -> None:
    from importlib import util

    for package in ("torch", "torch_npu"):
        if util.find_spec(package) is None:
            raise UserError(f"`{package}` is not installed in this environment",
                            "install the pair that fits your CANN, or `pip install 'jumar[emulator]'`")  # fmt: skip


def _prepare() -> None:
    """What an emulated process needs, where a missing compiler can still be told."""
    from jumar.emulate.glue import build

    build.library()


def _place(request: SelfTestRequest, units: Sequence[str], cards: int) -> Path:
    """The folder of an unfinished run, beside the archive."""
    place = request.out.absolute().with_suffix(".partial")
    settings = {"units": list(units), "cards": cards, "emulated": request.emulated, "soc": request.soc}
    path = place / _SETTINGS
    if request.resume:
        try:
            before = contents.decoded(contents.content(path))
        except (UserError, ValueError) as error:
            raise UserError(f"there is no unfinished self-test in `{place}`", "start one without `--resume`") from error
        if before != settings:
            raise UserError("the unfinished self-test has other settings", "give the same options, or start anew")
        return place
    if place.exists() and not path.exists():
        raise UserError(f"`{place}` exists and is no unfinished self-test", "`-o` names another place")
    try:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        path.write_text(json.dumps(settings), encoding="utf-8")
    except OSError as error:
        raise cannot(f"write `{place}`", error, "`-o` names another place") from error
    return place


def _expected(name: str) -> dict[str, tuple[float, str]]:
    """What the models assume of a chip, by the names of the figures."""
    from jumar.perf import roofline
    from jumar.tables import socs

    try:
        card = roofline.Card(socs.known(name))
    except (UserError, KeyError):
        return {}
    source = f"the model of {card.soc}"
    return {"matmul_float16": (card.cube / 1e6, source), "memory": (card.memory / 1e3, source)}


def _versions(environ: Mapping[str, str]) -> dict[str, Any]:
    """Of driver, firmware and CANN, as the doctor reads them; what cannot be read is left out."""
    import platform

    from jumar import __version__
    from jumar.machine.host import Host
    from jumar.machine.probe.local import Local

    host = Host(Local(dict(environ)), None, 15.0)
    asks: dict[str, Callable[[], str]] = {
        "driver": lambda: host.driver()["Version"],
        "firmware": lambda: host.firmware()["Version"],
        "cann": lambda: str(host.toolkit().version),
    }
    found: dict[str, Any] = {"arch": platform.machine(), "jumar": __version__}
    for name, ask in asks.items():
        try:
            found[name] = ask()
        except Exception:  # a machine whose versions cannot be read has none
            continue
    return found


def _scrub(environ: Mapping[str, str], place: Path) -> Callable[[str], str]:
    from jumar.app import selftest_scrub

    return selftest_scrub.scrubber(environ, [place, Path.cwd()])


def _written(request: SelfTestRequest, test: SelfTest, place: Path, scrub: Callable[[str], str]) -> SelfTestResult:
    from jumar.core.write import replace
    from jumar.report import selftest as report
    from jumar.selftest import archive

    clean = archive.scrubbed(test, scrub)
    page = report.html(clean)
    out = request.out
    beside = out.with_suffix(".html")
    replace(out, archive.pack(clean, page))
    replace(beside, page.encode())
    if clean.complete:
        shutil.rmtree(place, ignore_errors=True)
    return SelfTestResult(clean, (out, beside))


def read(paths: Sequence[Path], *, page: Path | None = None, data: Path | None = None) -> list[SelfTestResult]:
    """Pages and rows of archives; an emulated machine gives no rows."""
    from jumar.core.write import make_folder, replace
    from jumar.report import selftest as report
    from jumar.selftest import archive, measured
    from jumar.tables import measured as tables

    found = []
    for path in paths:
        test, source = archive.read(path)
        beside = page or path.with_suffix(".html")
        replace(beside, report.html(test).encode())
        files, rows = [beside], {}
        if not test.emulated and test.machine.get("name"):
            rows = measured.rows(test, source)
            target = (data or tables.user_folder()) / measured.file_name(test, source)
            make_folder(target.parent, "`--data` names another folder")
            replace(target, measured.text(rows).encode())
            files.append(target)
        found.append(SelfTestResult(test, tuple(files), rows))
    return found
