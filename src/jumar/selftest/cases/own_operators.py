"""Operators that only torch_npu has: the ones that models take first. There is no CPU kernel to ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jumar.selftest.case import HALVES, Case

if TYPE_CHECKING:
    from jumar.selftest.given import Given

HALF = ("float16", "bfloat16")


def _rms_norm(g: Given) -> Any:
    x, weight = g.learnt(12, 64), g.learnt(64)
    out = g.npu.npu_rms_norm(x, weight)[0]
    out.backward(g.normal(12, 64))
    return {"out": out, "x": x.grad, "weight": weight.grad}


def _fusion_attention(g: Given) -> Any:
    q, k, v = (g.normal(2, 4, 32, 16) for _ in range(3))
    return g.npu.npu_fusion_attention(q, k, v, 4, "BNSD", scale=0.25)[0]


def _rotary(g: Given) -> Any:
    return g.npu.npu_rotary_mul(g.normal(2, 8, 4, 32), g.normal(1, 8, 1, 32), g.normal(1, 8, 1, 32))


def _add_rms_norm(g: Given) -> Any:
    found = g.npu.npu_add_rms_norm(g.normal(12, 64), g.normal(12, 64), g.normal(64))
    return {"out": found[0], "sum": found[2]}


def _gating(g: Given) -> Any:
    found = g.npu.npu_moe_gating_top_k_softmax(g.distinct(16, 8), None, 2)
    return {"weights": found[0], "experts": found[1]}


def _grouped(g: Given) -> Any:
    x, weight = g.normal(24, 32), g.normal(3, 32, 16, scale=0.2)
    return g.npu.npu_grouped_matmul([x], [weight], group_list=[8, 16, 24], split_item=3, group_type=0)[0]


def _fused_adam(g: Given) -> Any:
    model = g.module(g.torch.nn.Linear, 8, 4)
    optimizer = g.npu.optim.NpuFusedAdamW(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(g.normal(5, 8)).square().mean().backward()
        optimizer.step()
    return {"weight": model.weight.detach().clone(), "bias": model.bias.detach().clone()}


def _case(name: str, run: Any, types: tuple[str, ...] = HALVES, needs: str = "") -> Case:
    return Case(name, run, types, reference=False, needs=(needs,) if needs else ())


CASES = [
    _case("rms-norm", _rms_norm, needs="npu_rms_norm"),
    _case("fusion-attention", _fusion_attention, HALF, "npu_fusion_attention"),
    _case("rotary-mul", _rotary, needs="npu_rotary_mul"),
    _case("swiglu", lambda g: g.npu.npu_swiglu(g.normal(12, 64)), needs="npu_swiglu"),
    _case("fast-gelu", lambda g: g.npu.fast_gelu(g.normal(12, 64)), needs="fast_gelu"),
    _case("geglu", lambda g: g.npu.npu_geglu(g.normal(12, 64))[0], HALF, "npu_geglu"),
    _case("add-rms-norm", _add_rms_norm, needs="npu_add_rms_norm"),
    _case("gating-top-k", _gating, needs="npu_moe_gating_top_k_softmax"),
    _case("grouped-matmul", _grouped, HALF, "npu_grouped_matmul"),
    _case("fused-adam", _fused_adam, ("float32",), "optim.NpuFusedAdamW"),
    _case("dtype-cast", lambda g: g.npu.npu_dtype_cast(g.normal(50), g.torch.float16), needs="npu_dtype_cast"),
    _case("format-cast", lambda g: g.npu.npu_format_cast(g.normal(32, 32), 29), HALF, "npu_format_cast"),
    _case("transpose", lambda g: g.npu.npu_transpose(g.normal(4, 5, 6), (2, 0, 1)), needs="npu_transpose"),
]
