import torch
import torch_npu

torch.manual_seed(0)
B, N, G, S, T, D = 2, 4, 2, 5, 7, 8
q, k, v = torch.randn(B, N, S, D), torch.randn(B, G, T, D), torch.randn(B, G, T, D)
mask = torch.rand(B, 1, S, T) < 0.3
mask[..., 0] = False
pse = torch.randn(B, N, S, T)
scale = 0.3


def expected(q, k, v, pse):
    k, v = (t.repeat_interleave(N // G, 1) for t in (k, v))
    scores = ((q @ k.transpose(-1, -2) + pse) * scale).masked_fill(mask, float("-inf"))
    return scores.softmax(-1) @ v


to = {
    "BNSD": lambda t: t,
    "BSND": lambda t: t.transpose(1, 2),
    "BSH": lambda t: t.transpose(1, 2).flatten(2),
    "SBH": lambda t: t.permute(2, 0, 1, 3).flatten(2),
}
leaves = [t.clone().requires_grad_() for t in (q, k, v, pse)]
reference = expected(*leaves)
weights = torch.randn_like(reference)
(reference * weights).sum().backward()
for name, layout in to.items():
    ours = [t.clone().npu().requires_grad_() for t in (q, k, v, pse)]
    result = torch_npu.npu_fusion_attention(
        *(layout(t) for t in ours[:3]), N, name, pse=ours[3], atten_mask=mask.npu(), scale=scale
    )
    out, top, total = result[:3]
    assert top.shape == (B, N, S, 8) and total.dtype == torch.float32
    torch.testing.assert_close(out.cpu(), layout(reference).detach(), msg=name)
    (out * layout(weights).npu()).sum().backward()
    for own, leaf in zip(ours, leaves, strict=True):
        torch.testing.assert_close(own.grad.cpu(), leaf.grad, rtol=1e-4, atol=1e-5)
