"""The pytest plugin: `pytest --npu` runs a suite on NPUs, real or emulated, and tells what they refused.

pytest loads this module in every run of an environment that has Jumar: nothing of Jumar is imported at its top.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from jumar.app.suite import Machine

pytest_plugins = ("jumar.pytest_fixtures",)
MARKS = (
    "npu(cards=1): needs NPUs, real or emulated, and is skipped where there are fewer (`pytest --npu`)",
    "npu_distributed(n, timeout=600): the body runs in n processes with one card each",
    "npu_allow(*names): these refusals and fallbacks do not fail the test; all of them without a name",
)
MACHINE: pytest.StashKey[Machine | None] = pytest.StashKey()
RANK_FILE = "--npu-rank-file"
HELP = (
    "Run on NPUs: real ones if there are any, else emulated ones. `--npu=910B3:2` emulates two cards of that chip; "
    "write the equals sign."
)


NEEDED = "needs an NPU: `pytest --npu` emulates one"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("npu", "NPUs, real or emulated (Jumar)")
    group.addoption("--npu", nargs="?", const="", default=None, metavar="CHIP:CARDS", help=HELP)
    group.addoption("--npu-memory", metavar="SIZE", help="Memory of each emulated card, such as 32G.")
    group.addoption("--npu-report", metavar="FILE", help="Write refused calls, fallbacks and tests on cards as JSON.")
    group.addoption("--npu-fail-on", default="", metavar="WORDS", help="`fallback`, `refused` or `fallback,refused`: "
                    "a test in which an operator ran on the CPU or a call was refused fails.")  # fmt: skip
    group.addoption(RANK_FILE, help="Used by Jumar: this process is a rank of a distributed test.")


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Iterator[None]:
    """Before conftest files, which may import torch, and before pytest captures the output."""
    if "--npu" in args:  # argparse gives it the path that follows
        args[:] = ["--npu=" if word == "--npu" else word for word in args]
        before = early_config.known_args_namespace
        known = parser.parse_known_args(args, namespace=copy.copy(early_config.option))
        known.confcutdir = before.confcutdir
        early_config.known_args_namespace = known
    if early_config.known_args_namespace.npu is not None:
        _enter(early_config)
    yield


def _enter(config: pytest.Config) -> None:
    import os

    from jumar import start
    from jumar.app import suite, suite_record
    from jumar.core.errors import UserError

    given = config.known_args_namespace
    try:
        suite_record.check(given.npu_fail_on, given.npu_report)
        machine = suite.build(suite.parse(given.npu, given.npu_memory), os.environ)
        suite.enter(machine)
    except UserError as error:
        raise pytest.UsageError(said("\nhint: ".join(filter(None, [error.message, error.hint])))) from None
    if machine.emulated:
        start.emulate()
    config.stash[MACHINE] = machine
    if not given.npu_rank_file:  # a rank writes into the record of the test that started it
        from jumar.pytest_suite import Suite

        config.pluginmanager.register(Suite(config, machine), "jumar-suite")


def pytest_configure(config: pytest.Config) -> None:
    for mark in MARKS:
        config.addinivalue_line("markers", mark)
    given = config.option
    if given.npu_rank_file:
        config.pluginmanager.register(Rank(Path(given.npu_rank_file)), "jumar-rank")
    elif given.npu is None and (given.npu_report or given.npu_fail_on or given.npu_memory):
        raise pytest.UsageError(said("`--npu-report`, `--npu-fail-on` and `--npu-memory` need `--npu`"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`-m npu` means the distributed tests too."""
    for item in items:
        if item.get_closest_marker("npu_distributed"):
            item.add_marker("npu")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    mark = item.get_closest_marker("npu")
    if mark is None:
        return
    count = ranks(item)
    needed = max(count, int(mark.kwargs.get("cards", 1)))
    machine = machine_of(item.config)
    if machine is None:
        pytest.skip(said(NEEDED))
    if machine.cards < needed:
        pytest.skip(said(f"needs {needed} card(s), this machine has {machine.cards}: `pytest --npu=:{needed}`"))
    if count and isinstance(item, pytest.Function) and not item.config.option.npu_rank_file:
        if hasattr(item.cls, "assertEqual"):  # pytest would run it here, past our ranks
            told = said("`npu_distributed` is for functions, not for methods of `unittest.TestCase`")
            pytest.fail(told, pytrace=False)
        item.fixturenames = []  # the ranks set them up


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A distributed test runs in its ranks, and here stands their result."""
    count = 0 if pyfuncitem.config.option.npu_rank_file else ranks(pyfuncitem)
    if not count:
        return None
    from jumar.pytest_suite import run_ranks

    run_ranks(pyfuncitem, count)
    return True


def ranks(item: pytest.Item) -> int:
    """How many processes a test asks for; 0 where it is an ordinary one."""
    mark = item.get_closest_marker("npu_distributed")
    if mark is None:
        return 0
    count = mark.args[0] if mark.args else mark.kwargs.get("n")
    if not isinstance(count, int) or count < 1:
        raise pytest.UsageError(said(f"{item.nodeid}: write `npu_distributed(2)`, with the number of ranks"))
    return count


def said(text: str) -> str:
    """In the language of the reader."""
    from jumar.runtime import tell

    return tell.said(text)


def machine_of(config: pytest.Config) -> Machine | None:
    """The NPUs of this run, with or without `--npu`; None if there are none."""
    if MACHINE not in config.stash:
        from jumar.app import suite

        config.stash[MACHINE] = suite.present()
    return config.stash[MACHINE]


class Rank:
    """In a rank: leaves the result of its test for the process that started it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.told = {"outcome": "passed", "text": ""}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._keep(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._keep(report)

    def _keep(self, report: Any) -> None:
        if report.passed or self.told["outcome"] == "failed":
            return
        skipped = report.skipped and isinstance(report.longrepr, tuple)
        text = report.longrepr[2].removeprefix("Skipped: ") if skipped else report.longreprtext
        said = [f"{title}\n{content}" for title, content in report.sections] if report.failed else []
        self.told = {"outcome": report.outcome, "text": "\n".join([text, *said])}

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        from jumar.app import suite_ranks, suite_record

        if exitstatus in (0, 1):
            told = suite_ranks.Told(**self.told, used=suite_record.allocations() > 0)
            suite_ranks.write(self.path, told)
