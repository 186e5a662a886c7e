"""What is changed in modules of MindSpore, on stand-ins for those modules; the wheels are in tests/emulate."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest

from jumar.runtime.hooks import mindspore

_CHANGES = mindspore.changes("Ascend")


class _Profiler:
    """As in mindspore 2.7.0: no method asks whether the machine has what it needs."""

    def __init__(self) -> None:
        raise AssertionError("there is no device to record")

    def _record(self, **_: object) -> None:
        raise AssertionError("there is nothing recorded")

    start = stop = analyse = finalize = _record


def test_no_method_of_the_profiler_asks_the_device(capfd: pytest.CaptureFixture[str]) -> None:
    mindspore.say.cache_clear()
    module = SimpleNamespace(NpuProfiler=_Profiler)
    _CHANGES["mindspore.profiler.platform.npu_profiler"](module)
    running = module.NpuProfiler()
    running.start()
    running.stop()
    running.analyse(offline_path="somewhere")
    running.finalize()
    assert capfd.readouterr().err.count("MindSpore's profiler is not emulated") == 1


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("CheckFailed: No module named 'te'", False),
        ('MindSpore relies on whl packages of "te" in the "latest" folder', False),  # 2.7.0 and 2.7.1
        ("Can not find ccec_compiler(need by mindspore-ascend)", False),
        ("Can not find the tbe operator implementation", True),
    ],
)
def test_messages_about_the_operator_compiler_are_left_out(said: str, shown: bool) -> None:
    logger = logging.Logger("mindspore")
    _CHANGES["mindspore.log"](SimpleNamespace(_get_logger=lambda: logger))
    record = logger.makeRecord(logger.name, logging.CRITICAL, __file__, 1, said, (), None)
    assert bool(logger.filter(record)) is shown
