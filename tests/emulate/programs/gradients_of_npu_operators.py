from functools import partial

import torch
import torch_npu

torch.manual_seed(0)


def check(function, *inputs, fast=False):
    leaves = [t.double().npu().requires_grad_() for t in inputs]
    # Missing gradients are not passed to operators of the device, so they are not tried.
    assert torch.autograd.gradcheck(
        function, leaves, eps=1e-6, atol=1e-5, rtol=1e-4, check_undefined_grad=False, fast_mode=fast
    )


def check_weights(function, formula, *inputs):
    """For weights whose gradients torch_npu allocates as float32: autograd refuses them for a float64 leaf."""
    leaves = [t.npu().requires_grad_() for t in inputs]
    plain = [t.double().requires_grad_() for t in inputs]
    out, expected = function(*leaves), formula(*plain)
    scale = torch.randn(out.shape)
    got = torch.autograd.grad((out * scale.npu()).sum(), leaves)
    for gradient, wanted in zip(got, torch.autograd.grad((expected * scale).sum(), plain), strict=True):
        torch.testing.assert_close(gradient.cpu().double(), wanted, atol=1e-5, rtol=1e-4)


# activation
x = torch.randn(3, 8)
for function in (
    torch_npu.npu_swiglu,
    torch_npu.npu_gelu,
    torch_npu.fast_gelu,
    torch_npu.npu_mish,
    torch_npu.npu_silu,
    lambda t: torch_npu.npu_gelu(t, approximate="tanh"),
    lambda t: torch_npu.npu_geglu(t)[0],
    lambda t: torch_npu.npu_geglu(t, activate_left=True, approximate=0)[0],
):
    check(function, x)

# norm
x, gamma, beta = torch.randn(3, 2, 8), torch.randn(8), torch.randn(8)
# RmsNormBackwardKernelOpApi.cpp:32, AddLayerNormBackwardKernelNpuOpApi.cpp:49, DeepNormBackwardKernelOpApi.cpp:35
layer_norm, rms_norm = torch.nn.functional.layer_norm, torch.nn.functional.rms_norm
check_weights(lambda *t: torch_npu.npu_rms_norm(*t)[0], lambda x, gamma: rms_norm(x, (8,), gamma, 1e-6), x, gamma)
check_weights(
    lambda *t: torch_npu.npu_add_layer_norm(*t, 1e-5, True)[0],
    lambda a, b, gamma, beta: layer_norm(a + b, (8,), gamma, beta, 1e-5),
    *(x, x.flip(0), gamma, beta),
)
check_weights(
    lambda *t: torch_npu.npu_deep_norm(*t)[2],
    lambda x, gx, beta, gamma: layer_norm(0.3 * x + gx, (8,), gamma, beta, 1e-6),
    *(x, x.flip(0), beta, gamma),
)
grouped = torch.randn(2, 4, 3)
check(lambda *t: torch_npu.npu_group_norm_swish(t[0], 2, t[1], t[2])[0], grouped, gamma[:4], beta[:4])

# rotary
x, cos, sin = torch.randn(2, 3, 2, 8), torch.randn(1, 3, 1, 8), torch.randn(1, 3, 1, 8)
for mode in ("half", "interleave"):
    check(partial(torch_npu.npu_rotary_mul, rotary_mode=mode), x, cos, sin)

# shape
x = torch.randn(2, 3, 4)
check(lambda t: torch_npu.npu_confusion_transpose(t, (0, 2, 1), (2, 12), True), x)
check(lambda t: torch_npu.npu_confusion_transpose(t, (1, 0), (6, 4), False), x)
check(lambda t: torch_npu.npu_max(t, 1)[0], x)
check(lambda t: torch_npu.npu_min(t, 2, True)[0], x)
check(lambda t: t.gather(1, torch.tensor([[[0, 1, 2, 0]], [[2, 2, 1, 0]]]).npu()), x)

# products
check(torch_npu.npu_linear, torch.randn(5, 3), torch.randn(4, 3), torch.randn(4))
check(lambda a, b: torch_npu.npu_bmmV2(a, b, []), torch.randn(2, 3, 4), torch.randn(2, 4, 5))

# softmax
mask = (torch.rand(2, 1, 4, 6) < 0.3).npu()
check(lambda t: torch_npu.npu_scaled_masked_softmax(t, mask, 0.7, False), torch.randn(2, 3, 4, 6))

# boxes
one, two = torch.rand(4, 5) + 0.5, torch.rand(4, 5) + 0.5
check(lambda a, b: torch_npu.npu_giou(a, b, True, False, 0), one, two)
check(lambda a, b: torch_npu.npu_diou(a, b, True, False, 0), one, two)

# recurrent
x, w, b, h, c = (torch.randn(*n) for n in ((3, 2, 4), (7, 12), (12,), (1, 2, 3), (1, 2, 3)))
empty, modes = torch.empty(0).npu(), (True, 1, 0.0, True, False, False)


def ends(results):
    return results[0], results[1][-1], results[2][-1]


check(
    lambda a, k, o, s, t: ends(torch_npu.npu_lstm(a, k, o, empty, s, t, *modes, False, False)), x, w, b, h, c, fast=True
)
check(
    lambda *t: torch_npu.npu_lstm_cell(t[0], t[1], t[2], t[3], t[4], t[5], t[6])[:3],
    x[0],
    w[:4],
    w[4:],
    h[0],
    c[0],
    b,
    b.flip(0),
    fast=True,
)
g = [torch.randn(*n) for n in ((3, 2, 4), (1, 2, 3), (4, 9), (3, 9), (9,), (9,))]
check(lambda *t: torch_npu.npu_gru(*t, empty, *modes)[0], *g, fast=True)

# images
x, w, places = torch.randn(1, 4, 5, 5), torch.randn(2, 4, 3, 3), torch.rand(1, 54, 5, 5) * 0.8 + 0.1
four, pads = [1, 1, 1, 1], [1, 1, 1, 1]


def formula(a, k, o):
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, k, o):
            out, read = torch_npu.npu_deformable_conv2d(a, k, o, None, [3, 3], four, pads, deformable_groups=2)
            ctx.save_for_backward(a, k, o, read)
            return out

        @staticmethod
        def backward(ctx, grad):
            a, k, o, read = ctx.saved_tensors
            call = torch_npu.npu_deformable_conv2dbk
            return call(a, grad, read, k, o, [3, 3], four, pads, deformable_groups=2)[:3]

    return Function.apply(a, k, o)


check(formula, x, w, places, fast=True)
rois = torch.tensor([[[0.0, 0.0], [1.0, 2.0], [1.0, 0.0], [6.0, 7.0], [7.0, 5.0]]]).npu()
check(lambda t: torch_npu.npu_ps_roi_pooling(t, rois, 0.5, 2, 3), torch.randn(1, 12, 4, 4), fast=True)

# experts
tokens, indices = torch.randn(4, 3), torch.tensor([[0, 2], [1, 0], [2, 1], [0, 1]]).npu()
check(lambda t: torch_npu.npu_moe_token_permute(t, indices)[0], tokens)
places = torch_npu.npu_moe_token_permute(tokens.npu(), indices)[1]
check(lambda t, p: torch_npu.npu_moe_token_unpermute(t, places, p), torch.randn(8, 3), torch.rand(4, 2))
