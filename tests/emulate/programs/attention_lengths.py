import os

import torch
import torch_npu

torch.manual_seed(0)
N, D = 3, 8
rows, columns = [3, 5], [4, 9]
q, k, v = torch.randn(8, N, D), torch.randn(13, N, D), torch.randn(13, N, D)
causal = torch.ones(2048, 2048, dtype=torch.bool).triu(1)
for mode in map(int, os.environ["MODES"].split()):
    leaves = [t.clone().requires_grad_() for t in (q, k, v)]
    parts, a, b = [], 0, 0
    for r, c in zip(rows, columns, strict=True):
        x = torch.einsum("rnd,cnd->nrc", leaves[0][a : a + r], leaves[1][b : b + c]) * 0.5
        distance = torch.arange(c) - torch.arange(r).unsqueeze(1)
        hidden = {
            0: torch.zeros(r, c, dtype=torch.bool),
            2: distance > 0,
            3: distance > c - r,
            4: (distance > c - r + 1) | (distance < c - r - 2),
        }[mode]
        weights = x.masked_fill(hidden, float("-inf")).softmax(-1)
        parts.append(torch.einsum("nrc,cnd->rnd", weights, leaves[2][b : b + c]))
        a, b = a + r, b + c
    reference = torch.cat(parts)
    reference.square().sum().backward()
    ours = [t.clone().npu().requires_grad_() for t in (q, k, v)]
    out = torch_npu.npu_fusion_attention(
        *ours,
        N,
        "TND",
        atten_mask=None if mode == 0 else causal.npu(),
        scale=0.5,
        sparse_mode=mode,
        pre_tockens=2,
        next_tockens=1,
        actual_seq_qlen=[3, 8],
        actual_seq_kvlen=[4, 13],
    )[0]
    torch.testing.assert_close(out.cpu(), reference.detach())
    out.square().sum().backward()
    for own, leaf in zip(ours, leaves, strict=True):
        torch.testing.assert_close(own.grad.cpu(), leaf.grad, rtol=1e-4, atol=1e-5)
