"""Gradients of NPU-only operators against finite differences, in float64 where torch_npu lets it through."""

from __future__ import annotations

from conftest import Run

_PROGRAM = """
import torch, torch_npu
torch.manual_seed(0)

def check(function, *inputs):
    leaves = [t.double().npu().requires_grad_() for t in inputs]
    # Missing gradients are not passed to operators of the device, so they are not tried.
    assert torch.autograd.gradcheck(
        function, leaves, eps=1e-6, atol=1e-5, rtol=1e-4, check_undefined_grad=False
    )

{checks}
"""

_FAMILIES = {
    "activation": """
x = torch.randn(3, 8)
for function in (torch_npu.npu_swiglu, torch_npu.npu_gelu, torch_npu.fast_gelu, torch_npu.npu_mish,
                 torch_npu.npu_silu,
                 lambda t: torch_npu.npu_gelu(t, approximate="tanh"), lambda t: torch_npu.npu_geglu(t)[0],
                 lambda t: torch_npu.npu_geglu(t, activate_left=True, approximate=0)[0]):
    check(function, x)
""",
    "norm": """
x, gamma, beta = torch.randn(3, 2, 8), torch.randn(8), torch.randn(8)
check(lambda *t: torch_npu.npu_rms_norm(*t)[0], x, gamma)
check(lambda *t: torch_npu.npu_add_layer_norm(*t, 1e-5, True)[0], x, x.flip(0), gamma, beta)
check(lambda *t: torch_npu.npu_deep_norm(*t)[2], x, x.flip(0), beta, gamma)
grouped = torch.randn(2, 4, 3)
check(lambda *t: torch_npu.npu_group_norm_swish(t[0], 2, t[1], t[2])[0], grouped, gamma[:4], beta[:4])
""",
    "rotary": """
x, cos, sin = torch.randn(2, 3, 2, 8), torch.randn(1, 3, 1, 8), torch.randn(1, 3, 1, 8)
for mode in ("half", "interleave"):
    check(lambda *t: torch_npu.npu_rotary_mul(*t, mode), x, cos, sin)
""",
    "shape": """
x = torch.randn(2, 3, 4)
check(lambda t: torch_npu.npu_confusion_transpose(t, (0, 2, 1), (2, 12), True), x)
check(lambda t: torch_npu.npu_confusion_transpose(t, (1, 0), (6, 4), False), x)
check(lambda t: torch_npu.npu_max(t, 1)[0], x)
check(lambda t: torch_npu.npu_min(t, 2, True)[0], x)
check(lambda t: t.gather(1, torch.tensor([[[0, 1, 2, 0]], [[2, 2, 1, 0]]]).npu()), x)
""",
    "products": """
check(torch_npu.npu_linear, torch.randn(5, 3), torch.randn(4, 3), torch.randn(4))
check(lambda a, b: torch_npu.npu_bmmV2(a, b, []), torch.randn(2, 3, 4), torch.randn(2, 4, 5))
""",
    "softmax": """
mask = (torch.rand(2, 1, 4, 6) < 0.3).npu()
check(lambda t: torch_npu.npu_scaled_masked_softmax(t, mask, 0.7, False), torch.randn(2, 3, 4, 6))
""",
    "boxes": """
one, two = torch.rand(4, 5) + 0.5, torch.rand(4, 5) + 0.5
check(lambda a, b: torch_npu.npu_giou(a, b, True, False, 0), one, two)
check(lambda a, b: torch_npu.npu_diou(a, b, True, False, 0), one, two)
""",
    "experts": """
tokens, indices = torch.randn(4, 3), torch.tensor([[0, 2], [1, 0], [2, 1], [0, 1]]).npu()
check(lambda t: torch_npu.npu_moe_token_permute(t, indices)[0], tokens)
places = torch_npu.npu_moe_token_permute(tokens.npu(), indices)[1]
check(lambda t, p: torch_npu.npu_moe_token_unpermute(t, places, p), torch.randn(8, 3), torch.rand(4, 2))
""",
}


def test_gradients_are_those_of_finite_differences(run: Run) -> None:
    run(_PROGRAM.format(checks="".join(_FAMILIES.values())))
