"""The printed error bar is that of the recorded dry runs, and the model keeps to them."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from jumar.parallel import error, models
from jumar.tables.load import table

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("parallel_compiled", ROOT / "bench" / "parallel_compiled.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_predictions_keep_to_compiled_settings(bench: ModuleType) -> None:
    rows = json.loads(bench.FILE.read_text(encoding="utf-8"))["rows"]
    done = [row for row in rows if "compiled" in row]
    assert done
    for row in done:
        memory, volume = bench.compare(row)
        assert memory == pytest.approx(row["compiled"], rel=0.15 if bench.half(row) else 0.08), bench.tell(row)
        assert volume == pytest.approx(row["sent"], rel=0.08), bench.tell(row)
    assert table("parallel_error.json")["networks"] == bench.error_bars(rows)


def test_settings_depend_on_the_seed_alone(bench: ModuleType) -> None:
    assert bench.draw(1, 4) == bench.draw(1, 4) != bench.draw(2, 4)
    assert [bool(row["network"].get("experts")) for row in bench.draw(1, 4)] == [False, True, False, True]


def test_what_was_never_compiled_has_no_error_bar() -> None:
    net = models.preset("llama-7b")
    bar = error.bar(net)
    assert bar is not None and bar.settings > 0 and bar.lowest <= bar.highest
    assert error.bar(net.with_(framework="torch")) is None
    assert error.bar(models.preset("mlp-8x1024")) is None


def test_weights_in_half_precision_have_an_error_bar_of_their_own() -> None:
    net = models.preset("llama-7b")
    assert error.bar(net.with_(kept="bfloat16")) == error.bar(net.with_(kept="float16")) != error.bar(net)
