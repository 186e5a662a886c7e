"""Cases that end in every way; the test writes them into a folder as `test_a.py`."""

import os
import time

import pytest


def test_passes():
    pass


@pytest.mark.parametrize("i", range(5))
def test_many(i):
    pass


def test_fails():
    assert 1 == 2, "one is not two"


@pytest.mark.skip(reason="not here")
def test_skips():
    pass


def test_crashes():
    os._exit(7)


def test_hangs():
    time.sleep(60)


def test_stops_the_session():
    raise KeyboardInterrupt


def test_comes_last():
    pass


@pytest.fixture
def broken():
    raise ValueError("no set-up")


def test_has_no_start(broken):
    pass
