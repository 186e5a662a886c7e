"""Each analyzer speaks where it should and is silent where it should not."""

from __future__ import annotations

import re
from pathlib import Path

import profiles
import pytest
from profiles import batch, chain, folder, item, op, to_host, update

from jumar.perf import analyse
from jumar.perf.result import Advice
from jumar.perf.roofline import Tensor
from jumar.perf.simulate import Call
from jumar.perf.unit import analyzers
from jumar.tables import perf
from jumar.tables.load import table

DOCS = Path(__file__).parents[2] / "docs"


def _advice(place: Path, calls: list[Call], **more: object) -> list[Advice]:
    return list(analyse.report(folder(place, calls, **more)).advice)  # type: ignore[arg-type]


def _names(advice: list[Advice]) -> list[str]:
    return [one.name for one in advice]


@pytest.mark.parametrize(
    ("name", "operators"),
    [
        ("rms-norm", ["pow", "mean", "add", "rsqrt", "mul", "mul"]),
        ("rms-norm", ["_to_copy", "pow", "mean", "add", "rsqrt", "mul", "_to_copy", "mul"]),
        ("rotary", ["mul", "slice", "neg", "cat", "mul", "add"]),
        ("swiglu", ["silu", "mul"]),
        ("geglu", ["gelu", "mul"]),
        ("attention", ["bmm", "div", "_softmax", "bmm"]),
        ("attention", ["matmul", "masked_fill", "softmax", "native_dropout", "matmul"]),
        ("add-layer-norm", ["add", "native_layer_norm"]),
    ],
)
def test_fusible_sequences_are_found(tmp_path: Path, name: str, operators: list[str]) -> None:
    found = [one for one in _advice(tmp_path, chain(*operators, line=4)) if one.id == "PF101"]
    assert _names(found) == [f"fusible-operators: {name}"]
    assert found[0].where == "train.py:4"
    assert found[0].saved > 0 and found[0].basis == "modelled"
    assert any(part.startswith("torch") for part in found[0].change)


@pytest.mark.parametrize(
    "operators",
    [
        ["pow", "mean", "add", "exp", "rsqrt", "mul"],
        ["silu", "add", "mul"],
        ["bmm", "div", "exp", "bmm"],
        ["madd", "native_layer_norm"],
    ],
)
def test_sequences_that_only_look_alike_are_left_alone(tmp_path: Path, operators: list[str]) -> None:
    assert "PF101" not in {one.id for one in _advice(tmp_path, chain(*operators))}


def test_operators_that_do_not_feed_each_other_are_no_sequence(tmp_path: Path) -> None:
    calls = [op("silu", 1, 2), op("mul", 7, 8)]
    assert "PF101" not in {one.id for one in _advice(tmp_path, calls)}


def test_optimizer_of_many_kernels(tmp_path: Path) -> None:
    found = [one for one in _advice(tmp_path, update() * 3) if one.id == "PF102"]
    assert found[0].name == "unfused-optimizer: AdamW" and "NpuFusedAdamW" in found[0].change[0]
    assert not [one for one in _advice(tmp_path / "few", update(kernels=3) * 3) if one.id == "PF102"]
    assert not [one for one in _advice(tmp_path / "own", update("NpuFusedAdamW") * 3) if one.id == "PF102"]


def test_float64_is_slow_and_said_with_its_place(tmp_path: Path) -> None:
    calls = [op("cos", line=5, tensor=Tensor((100,), "float64"))]
    found = [one for one in _advice(tmp_path, calls) if one.id == "PF103"]
    assert found[0].name == "slow-data-type: float64" and found[0].where == "train.py:5"
    assert "AI_CPU" in found[0].evidence[0]


def test_float32_is_not_slow(tmp_path: Path) -> None:
    assert "PF103" not in {one.id for one in _advice(tmp_path, chain("cos", "sin"))}


def test_waits_of_the_host(tmp_path: Path) -> None:
    calls = [*chain("mm", "add"), item(), to_host()] * 3
    found = {one.name: one for one in _advice(tmp_path, calls) if one.id == "PF104"}
    assert set(found) == {"host-synchronisation: item", "host-synchronisation: copy to the host"}
    assert found["host-synchronisation: item"].where == "train.py:7"
    assert "3 times" in found["host-synchronisation: item"].message


def test_item_of_a_tensor_of_the_host_is_no_wait(tmp_path: Path) -> None:
    advice = analyse.report(profiles.vendor_folder(tmp_path)).advice
    found = [one for one in advice if one.id == "PF104"]
    assert len(found) == 1 and "1 time" in found[0].message


def test_waits_are_known_from_the_table_of_operators_alone(tmp_path: Path) -> None:
    place = folder(tmp_path, [*chain("mm"), item(), item()])
    (place / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").unlink()
    found = [one for one in analyse.report(place).advice if one.id == "PF104"]
    assert len(found) == 1 and found[0].where == "train.py:7" and "2 calls" in found[0].message


def test_changing_shapes(tmp_path: Path) -> None:
    calls = [
        call for size in range(5) for call in [op("mm", tensor=Tensor((8, 10 + size), "float32")), *update(kernels=1)]
    ]
    found = [one for one in _advice(tmp_path, calls) if one.name == "dynamic-shapes"]
    assert found and found[0].where == "train.py:1"
    layers = [op("mm", tensor=Tensor((8, 10 + size), "float32")) for size in range(5)]
    fixed = [call for _ in range(4) for call in [*layers, *update(kernels=1)]]
    assert not [one for one in _advice(tmp_path / "fixed", fixed) if one.name == "dynamic-shapes"]


def test_small_kernels_and_settings_of_a_run_that_waits_for_the_host(tmp_path: Path) -> None:
    names = _names(_advice(tmp_path, chain(*["add"] * 50)))
    assert {"many-small-kernels", "settings: TASK_QUEUE_ENABLE", "settings: CPU_AFFINITY_CONF"} <= set(names)
    large = Tensor((8192, 8192), "float16")
    busy = [Call("kernel", "aten::mm", 0.0, 1.0, (large, large), (large,)) for _ in range(20)]
    assert "PF106" not in {one.id for one in _advice(tmp_path / "busy", busy)}


def test_operator_without_a_kernel(tmp_path: Path) -> None:
    found = [
        one for one in _advice(tmp_path, [*chain("mm"), op("cholesky", kind="fallback", line=6)]) if one.id == "PF107"
    ]
    assert found[0].where == "train.py:6" and "no NPU kernel" in found[0].message


def test_waiting_for_batches(tmp_path: Path) -> None:
    advice = _advice(tmp_path, [call for _ in range(4) for call in [batch(5000.0), *chain("mm", "add")]])
    assert advice[0].id == "PF108" and advice[0].where == "train.py:3"
    assert "num_workers" in advice[0].change[0]
    quick = [call for _ in range(4) for call in [batch(0.1), *chain("mm", "add")]]
    assert "PF108" not in {one.id for one in _advice(tmp_path / "quick", quick)}


def test_collectives_without_computing_beside_them(tmp_path: Path) -> None:
    gradient = Tensor((4_000_000,), "float32")
    sent = Call("collective", "c10d::allreduce_", 1.0, 1.0, (gradient,), (gradient,))
    advice = _advice(tmp_path, [*chain("mm", "add"), sent, *update(kernels=1)], ranks=8)
    assert "PF109" in {one.id for one in advice}
    assert "PF109" not in {one.id for one in _advice(tmp_path / "one", chain("mm", "add"))}


def test_fragmented_memory(tmp_path: Path) -> None:
    advice = _advice(tmp_path, chain("mm"), memory=(1000.0, 4000.0))
    found = [one for one in advice if one.id == "PF110"]
    assert "3,000 MB of 4,000 MB" in found[0].message
    assert "settings: PYTORCH_NPU_ALLOC_CONF" in _names(advice)
    assert "PF110" not in {one.id for one in _advice(tmp_path / "full", chain("mm"), memory=(3900.0, 4000.0))}


def test_operators_compiled_at_run_time(tmp_path: Path) -> None:
    assert "settings: jit_compile" in _names(_advice(tmp_path, chain("mm"), jit_compile=True))
    assert "settings: jit_compile" not in _names(_advice(tmp_path / "off", chain("mm"), jit_compile=False))


def test_slow_rank(tmp_path: Path) -> None:
    big, small = Tensor((4096, 4096), "float32"), Tensor((64, 64), "float32")
    for rank in range(4):
        tensor = big if rank == 3 else small
        calls = [Call("kernel", "aten::mm", 0.0, 1.0, (tensor, tensor), (tensor,)) for _ in range(20)]
        folder(tmp_path, calls, rank)
    found = [one for one in analyse.report(tmp_path, jobs=1).advice if one.id == "PF113"]
    assert found[0].ranks == (3,) and "rank 3 computes" in found[0].message


def test_advice_is_ranked_by_time_saved(tmp_path: Path) -> None:
    saved = [
        one.saved for one in _advice(tmp_path, [batch(9000.0), *chain("silu", "mul"), item(), *chain("mm"), *update()])
    ]
    assert saved == sorted(saved, reverse=True)
    assert len(saved) > 3


def test_every_advice_has_a_section_and_the_other_way_round() -> None:
    text = (DOCS / "findings" / "perf.md").read_text(encoding="utf-8")
    sections = set(re.findall(r"^## (PF\d{3}) ([a-z-]+)$", text, re.M))
    known = {(unit.ADVICE.id, unit.ADVICE.name) for unit in analyzers()}
    assert sections == known | {analyse.SLOW_RANK[:2]}


def test_replacements_exist_in_the_wheel() -> None:
    wheel = table("torch_npu.json")
    for row in perf.fusions():
        for name in re.findall(r"torch_npu\.(npu_\w+)", row.replace):
            assert name in wheel["torch_npu"], name
    for one in perf.optimizers().values():
        found = re.search(r"torch_npu\.optim\.(\w+)", one.replace)
        assert found and found[1] in wheel["torch_npu.optim"]
    assert all(row.source.startswith(("https://", "msprof-analyze")) for row in perf.settings())
