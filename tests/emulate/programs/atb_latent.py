"""Latent attention of ATB: the way into the cache, and attention over it, against the formula."""

import torch
import torch_npu

torch.manual_seed(1)
TOKENS, HEADS, HIDDEN, RANK, PAGE = 3, 2, 64, 32, 16


def norm(x, gamma, beta=0.0):
    return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * gamma + beta


def turned(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


def scaled_product(x, weight, descale):
    token = x.abs().amax(-1, keepdim=True) / 127
    return (x / token).round() @ weight.float().t() * descale * token


x = torch.randn(TOKENS, HIDDEN)
gamma0, beta0, gamma1, beta1, gamma2 = (torch.randn(n) for n in (HIDDEN, HIDDEN, RANK, RANK, 512))
down = torch.randint(-9, 9, (512 + 64 + RANK, HIDDEN)).to(torch.int8)
up = torch.randint(-9, 9, (HEADS * 192, RANK)).to(torch.int8)
scales = torch.rand(len(down)) * 0.01, torch.rand(len(up)) * 0.01
cos, sin = torch.randn(TOKENS, 64), torch.randn(TOKENS, 64)
absorb = torch.randn(HEADS, 128, 512) * 0.1
caches = torch.zeros(2, PAGE, 1, 512), torch.zeros(2, PAGE, 1, 64)
slots = torch.tensor([17, 0, 5], dtype=torch.int32)
mixed = scaled_product(norm(x, gamma0, beta0), down, scales[0])
query = scaled_product(norm(mixed[:, 576:], gamma1, beta1), up, scales[1]).view(TOKENS, HEADS, 192)
expected = (
    torch.einsum("thd,hdl->thl", query[..., :128], absorb),
    turned(query[..., 128:], cos.unsqueeze(1), sin.unsqueeze(1)),
    norm(mixed[:, :512], gamma2),
    turned(mixed[:, 512:576], cos, sin),
)
given = (x, gamma0, beta0, down, scales[0], gamma1, beta1, up, scales[1], gamma2, cos, sin, absorb, *caches, slots)
q, latent, q_rope, rope = (t.cpu() for t in torch_npu.atb.npu_mla_preprocess(*(t.npu() for t in given)))
close = {"rtol": 1e-3, "atol": 1e-3}
torch.testing.assert_close(q, expected[0], **close)
torch.testing.assert_close(q_rope, expected[1], **close)
torch.testing.assert_close(latent.view(-1, 512)[slots.long()], expected[2], **close)
torch.testing.assert_close(rope.view(-1, 64)[slots.long()], expected[3], **close)

pages = [torch.randn(4, PAGE, 1, n) for n in (512, 64)]
table, lengths = torch.tensor([[3, 1], [2, 0], [1, 2]], dtype=torch.int32), [20, 16, 3]
arguments = [t.npu() for t in (q, q_rope, *pages, table)]
out, lse = torch_npu.atb.npu_multi_head_latent_attention(*arguments, lengths, HEADS, 0.05, 1, True)
for i, length in enumerate(lengths):
    rows = [p[table[i].long()].reshape(-1, p.shape[-1])[:length] for p in pages]
    scores = (q[i] @ rows[0].t() + q_rope[i] @ rows[1].t()) * 0.05
    torch.testing.assert_close(out[i].cpu(), scores.softmax(-1) @ rows[0], **close)
    torch.testing.assert_close(lse[i, :, 0].cpu(), scores.logsumexp(-1), **close)
plain = torch_npu.atb.npu_multi_head_latent_attention(*arguments, lengths, HEADS, 0.05, 1)
assert torch.equal(plain, out)
try:
    torch_npu.atb.npu_multi_head_latent_attention(*arguments, lengths, HEADS, 0.05, 1, cache_mode="other")
except RuntimeError as error:
    print(str(error).splitlines()[0])
