"""Three answers for every pair: where a table has it, where a fact bounds it, and otherwise unknown."""

from __future__ import annotations

import pytest

from jumar.core.compat import pairwise
from jumar.machine import pairs
from jumar.machine.pairs import Fit
from jumar.tables import cann as releases
from jumar.tables import tested


@pytest.mark.parametrize(
    ("driver", "cann", "fit"),
    [
        ("25.5.0", "8.5.0", Fit.FITS),
        ("25.5.2", "8.5.0", Fit.FITS),
        ("26.1.0", "8.5.0", Fit.FITS),
        ("24.1.0", "8.5.0", Fit.DOES_NOT),
        ("24.1.0", "6.3.RC3", Fit.UNKNOWN),
        ("25.3.rc1", "8.0.0", Fit.FITS),
        ("25.3.rc1", "8.5.0", Fit.FITS),
        ("25.2.1", "9.1.0", Fit.FITS),
        ("25.0.rc1.1", "9.1.0", Fit.DOES_NOT),
        ("25.0.rc1.1", "9.0.0", Fit.FITS),
        ("24.1.0", "9.0.0", Fit.DOES_NOT),
        ("24.1.RC3", "8.2.RC1", Fit.FITS),
        ("23.0.3", "8.2.RC1", Fit.UNKNOWN),
        ("25.0.rc1", "8.3.RC1", Fit.UNKNOWN),
        ("25.0.0", "9.2.0", Fit.DOES_NOT),
        ("26.1.0", "8.0.RC2", Fit.UNKNOWN),
        ("26.1.0", "6.0.1", Fit.UNKNOWN),
        ("26.1.4", "9.1.0", Fit.FITS),
        ("26.1.4", "8.3.RC1", Fit.FITS),
        ("27.0.0", "8.3.RC1", Fit.UNKNOWN),
        ("99.9.9", "9.1.0", Fit.UNKNOWN),
        ("abc", "9.1.0", Fit.UNKNOWN),
        ("", "9.1.0", Fit.UNKNOWN),
        ("26.1.0", "master", Fit.UNKNOWN),
        ("23.0.0", "9.1.0", Fit.DOES_NOT),
        ("23.0.3", "9.2.0", Fit.DOES_NOT),
        ("26.1.0", "9.2.0", Fit.UNKNOWN),
        ("99.0.0", "9.2.0", Fit.UNKNOWN),
        ("24.1.rc1", "8.0.RC2", Fit.UNKNOWN),
        ("24.1.rc1", "8.0.RC1.alpha001", Fit.UNKNOWN),
        ("24.1.rc1", "7.0.1.1", Fit.UNKNOWN),
        ("25.3.rc1", "7.0.0", Fit.DOES_NOT),
        ("25.3.rc1", "8.0.0.beta1", Fit.FITS),
    ],
)
def test_driver_and_cann(driver: str, cann: str, fit: Fit) -> None:
    assert pairs.driver_and_cann(driver, cann).fit is fit


def test_drivers_of_the_950_are_compared_by_product_only() -> None:
    assert pairs.driver_and_cann("25.7.RC1", "9.1.0", "950").fit is Fit.FITS
    assert pairs.driver_and_cann("26.1.0", "9.1.0", "950").fit is Fit.UNKNOWN
    assert pairs.driver_and_cann("23.0.3", "9.1.0", "950").fit is Fit.DOES_NOT


def test_a_driver_from_before_the_chip_is_not_known_to_run_it() -> None:
    assert pairs.driver_and_cann("24.1.0", "8.2.RC1", "A2").fit is Fit.FITS
    assert pairs.driver_and_cann("24.1.0", "8.2.RC1", "A3").fit is Fit.UNKNOWN


def test_every_kit_runs_its_own_cann_and_no_kit_runs_a_much_newer_one() -> None:
    kits = sorted((kit for kit in releases.kits().values() if kit.hdk), key=lambda kit: releases.key(kit.cann))
    for older, newer in pairwise(kits):
        assert pairs.driver_and_cann(str(newer.hdk), newer.cann).fit is not Fit.DOES_NOT
        if releases.driver_key(str(older.hdk)) < releases.driver_key(str(newer.hdk)):
            assert pairs.driver_and_cann(str(older.hdk), newer.cann).fit is not Fit.FITS or _is_listed(older, newer)


def _is_listed(older: releases.Kit, newer: releases.Kit) -> bool:
    """A driver older than the one that goes with a CANN fits only where the vendor says so."""
    row = releases.drivers_for(newer.cann)
    return row is not None and any(releases.in_series(str(older.hdk), name) for name in row.fits)


@pytest.mark.parametrize(
    ("version", "cann", "fit"),
    [
        ("2.5.1", "8.0.0", Fit.FITS),
        ("2.5.1", "8.1.RC1", Fit.FITS),
        ("2.5.1", "7.0.0", Fit.DOES_NOT),
        ("2.5.1", "9.1.0", Fit.UNKNOWN),
        (tested.pair().torch_npu, tested.pair().cann, Fit.UNKNOWN),
        ("2.9.0.post8", "9.1.3", Fit.FITS),
        ("7.7.7", "9.1.0", Fit.UNKNOWN),
        ("2.5.1", "next", Fit.UNKNOWN),
    ],
)
def test_torch_npu_and_cann(version: str, cann: str, fit: Fit) -> None:
    assert pairs.framework_and_cann("torch_npu", version, pairs.torch_npu(version), cann).fit is fit


@pytest.mark.parametrize(
    ("version", "cann", "fit"),
    [
        (tested.mindspore().mindspore, tested.mindspore().cann, Fit.FITS),
        ("2.8.0", "8.5.0", Fit.UNKNOWN),
        ("2.7.0", "8.0.0", Fit.DOES_NOT),
        ("9.9", "9.1.0", Fit.UNKNOWN),
    ],
)
def test_mindspore_and_cann(version: str, cann: str, fit: Fit) -> None:
    assert pairs.framework_and_cann("MindSpore", version, pairs.mindspore(version), cann).fit is fit


@pytest.mark.parametrize(
    ("torch", "plugin", "fit"),
    [
        ("2.6.0+cpu", "2.6.0.post5", Fit.FITS),
        ("2.6.0", "2.7.1", Fit.DOES_NOT),
        ("1.8.1", "1.5.0.post3", Fit.FITS),
        ("1.5.0", "1.5.0.post3", Fit.DOES_NOT),
        ("2.6.0", "2.6.0.post99", Fit.FITS),
        ("2.99.0", "2.99.0.post1", Fit.FITS),
        ("2.99.0", "2.98.0", Fit.DOES_NOT),
        ("2.6.0+cu124", "2.6.0", Fit.UNKNOWN),
        ("2.6.0+cu124", "2.7.1", Fit.DOES_NOT),
        ("2.9.0+xpu", "2.9.0", Fit.UNKNOWN),
        ("2.6.0a0+ecf3bae40a.nv25.01", "2.6.0", Fit.UNKNOWN),
        ("2.14.0.dev20261001+cpu", "2.14.0", Fit.UNKNOWN),
        ("nightly", "2.6.0", Fit.UNKNOWN),
    ],
)
def test_torch_and_torch_npu(torch: str, plugin: str, fit: Fit) -> None:
    assert pairs.torch_and_torch_npu(torch, plugin).fit is fit


@pytest.mark.parametrize(
    ("python", "cann", "fit"),
    [
        ("3.11.7", "8.5.0", Fit.FITS),
        ("3.9.2", "8.1.RC1", Fit.FITS),
        ("3.14.0", "8.5.0", Fit.UNKNOWN),
        ("3.7.5", "9.1.0", Fit.UNKNOWN),
        ("3.14.0", "9.9.9", Fit.UNKNOWN),
        ("3.11.7", "99.0.0", Fit.UNKNOWN),
    ],
)
def test_python_and_cann(python: str, cann: str, fit: Fit) -> None:
    assert pairs.python_and_cann(python, cann).fit is fit


@pytest.mark.parametrize(
    ("python", "version", "fit"),
    [("3.10.4", "2.6.0", Fit.FITS), ("3.7.9", "2.6.0", Fit.DOES_NOT), ("3.11", "99.0", Fit.UNKNOWN)],
)
def test_python_and_framework(python: str, version: str, fit: Fit) -> None:
    assert pairs.python_and_framework(python, "torch_npu", version, pairs.torch_npu(version)).fit is fit


@pytest.mark.parametrize(
    ("firmware", "driver", "fit"),
    [
        ("7.1.0.7.220", "24.1.rc1", Fit.FITS),
        ("7.7.0.1", "24.1.rc1", Fit.DOES_NOT),
        ("7.7.0.1", "23.0.0", Fit.UNKNOWN),
        ("not a number", "24.1.rc1", Fit.UNKNOWN),
    ],
)
def test_firmware_and_driver(firmware: str, driver: str, fit: Fit) -> None:
    assert pairs.firmware_and_driver(firmware, driver).fit is fit
