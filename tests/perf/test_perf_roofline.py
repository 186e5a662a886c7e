"""The model of a card: sane for every chip, in the right order, and honest about itself."""

from __future__ import annotations

import pytest

from jumar.perf.roofline import Tensor, card, kernel_type, operations
from jumar.tables.load import table


@pytest.mark.parametrize("soc", sorted(table("emulated_socs.json")["socs"]))
def test_every_chip_has_a_model(soc: str) -> None:
    model = card(soc)
    assert model.cube > 1e6 and model.memory > 1e3 and model.link > 1e3
    assert "modelled, not measured" in model.text and soc in model.text
    assert model.confidence


def test_large_matmul_is_bound_by_the_cube_and_a_sum_by_memory() -> None:
    model = card("Ascend910B3")
    half = Tensor((4096, 4096), "float16")
    product = model.cost("mm", [half, half], [half])
    assert product.core == "AI_CORE" and product.type == "MatMulV2"
    assert product.time == pytest.approx(2 * 4096**3 / model.cube)
    added = model.cost("add", [half, half], [half])
    assert added.core == "AI_VECTOR_CORE"
    assert added.time == pytest.approx(3 * half.bytes / model.memory)
    single = Tensor((4096, 4096), "float32")
    assert model.cost("mm", [single, single], [single]).time > 3 * product.time


def test_nothing_is_shorter_than_the_shortest_kernel_and_float64_goes_to_the_ai_cpu() -> None:
    model = card("Ascend910B3")
    one = Tensor((1,), "float32")
    assert model.cost("add", [one], [one]).time == model.model["kernel_us"]
    assert model.cost("add", [Tensor((8,), "float64")], []).core == "AI_CPU"


def test_operations_of_cube_operators() -> None:
    image, weight, out = (
        Tensor((2, 3, 8, 8), "float16"),
        Tensor((4, 3, 3, 3), "float16"),
        Tensor((2, 4, 8, 8), "float16"),
    )
    assert operations("convolution", [image, weight], [out]) == 2 * out.size * 27
    bias, a, b, c = Tensor((5,), "f"), Tensor((2, 3), "f"), Tensor((3, 5), "f"), Tensor((2, 5), "f")
    assert operations("addmm", [bias, a, b], [c]) == 2 * 2 * 3 * 5
    query = Tensor((1, 2, 16, 8), "float16")
    assert operations("npu_fusion_attention", [query, query, query], [query]) == 4 * query.size * 16
    assert operations("add", [a, a], [a]) == 0


def test_names_of_kernels() -> None:
    assert kernel_type("addcdiv") == "Addcdiv"
    assert kernel_type("foreach_add") == "ForeachAdd"


def test_unknown_chip_becomes_the_default() -> None:
    assert card("Ascend1").soc == "Ascend910B3"
