"""Fusion attention on the emulated card against attention written out, with numerical gradients."""

from __future__ import annotations

import pytest
from conftest import Run

_LAYOUTS = """
import torch, torch_npu
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
    for own, leaf in zip(ours, leaves):
        torch.testing.assert_close(own.grad.cpu(), leaf.grad, rtol=1e-4, atol=1e-5)
"""

_VARLEN = """
import torch, torch_npu
torch.manual_seed(0)
N, D = 3, 8
rows, columns = [3, 5], [4, 9]
q, k, v = torch.randn(8, N, D), torch.randn(13, N, D), torch.randn(13, N, D)
causal = torch.ones(2048, 2048, dtype=torch.bool).triu(1)
for mode in {modes}:
    leaves = [t.clone().requires_grad_() for t in (q, k, v)]
    parts, a, b = [], 0, 0
    for r, c in zip(rows, columns):
        x = torch.einsum("rnd,cnd->nrc", leaves[0][a:a + r], leaves[1][b:b + c]) * 0.5
        distance = torch.arange(c) - torch.arange(r).unsqueeze(1)
        hidden = {{0: torch.zeros(r, c, dtype=torch.bool), 2: distance > 0, 3: distance > c - r,
                  4: (distance > c - r + 1) | (distance < c - r - 2)}}[mode]
        weights = x.masked_fill(hidden, float("-inf")).softmax(-1)
        parts.append(torch.einsum("nrc,cnd->rnd", weights, leaves[2][b:b + c]))
        a, b = a + r, b + c
    reference = torch.cat(parts)
    reference.square().sum().backward()
    ours = [t.clone().npu().requires_grad_() for t in (q, k, v)]
    out = torch_npu.npu_fusion_attention(
        *ours, N, "TND", atten_mask=None if mode == 0 else causal.npu(), scale=0.5, sparse_mode=mode,
        pre_tockens=2, next_tockens=1, actual_seq_qlen=[3, 8], actual_seq_kvlen=[4, 13],
    )[0]
    torch.testing.assert_close(out.cpu(), reference.detach())
    out.square().sum().backward()
    for own, leaf in zip(ours, leaves):
        torch.testing.assert_close(own.grad.cpu(), leaf.grad, rtol=1e-4, atol=1e-5)
"""

_DROPOUT = """
import torch, torch_npu
q, k, v = (torch.randn(1, 2, 16, 8).npu().requires_grad_() for _ in range(3))
torch.npu.manual_seed(5)
first = torch_npu.npu_fusion_attention(q, k, v, 2, "BNSD", keep_prob=0.5)
second = torch_npu.npu_fusion_attention(q, k, v, 2, "BNSD", keep_prob=0.5)
torch.npu.manual_seed(5)
again = torch_npu.npu_fusion_attention(q, k, v, 2, "BNSD", keep_prob=0.5)
assert torch.equal(first[0], again[0]) and not torch.equal(first[0], second[0])
bits = torch_npu._npu_dropout_gen_mask(q, [1, 2, 16, 16], p=0.5, seed=first[4], offset=first[5]).cpu()
kept = ((bits.unsqueeze(1) >> torch.arange(8)) & 1).reshape(-1)[:512].view(1, 2, 16, 16)
leaves = [t.detach().cpu().requires_grad_() for t in (q, k, v)]
weights = (leaves[0] @ leaves[1].transpose(-1, -2)).softmax(-1) * kept / 0.5
reference = weights @ leaves[2]
torch.testing.assert_close(first[0].cpu(), reference)
reference.square().sum().backward()
first[0].square().sum().backward()
for own, leaf in zip((q, k, v), leaves):
    torch.testing.assert_close(own.grad.cpu(), leaf.grad, rtol=1e-4, atol=1e-5)
"""

_SDPA = """
import torch
from torch.nn import functional as F
torch.manual_seed(0)
for dtype, tolerance in ((torch.float32, 1e-5), (torch.float16, 2e-3)):
    for arguments in ({}, {"is_causal": True}, {"attn_mask": torch.rand(6, 6) > 0.2}):
        leaves = [torch.randn(2, 3, 6, 16).requires_grad_() for _ in range(3)]
        if "attn_mask" in arguments:
            arguments["attn_mask"][:, 0] = True
        ours = [t.detach().to(dtype).npu().requires_grad_() for t in leaves]
        reference = F.scaled_dot_product_attention(*leaves, **arguments)
        moved = {k: v.npu() if isinstance(v, torch.Tensor) else v for k, v in arguments.items()}
        out = F.scaled_dot_product_attention(*ours, **moved)
        torch.testing.assert_close(out.cpu().float(), reference, rtol=tolerance, atol=tolerance)
        reference.sum().backward()
        out.sum().backward()
        for own, leaf in zip(ours, leaves):
            torch.testing.assert_close(own.grad.cpu().float(), leaf.grad, rtol=10 * tolerance, atol=tolerance)
"""

_INFERENCE = """
import torch, torch_npu
torch.manual_seed(0)
B, N, G, T, D, block = 2, 4, 2, 10, 16, 4
q, k, v = torch.randn(B, N, 1, D), torch.randn(B, G, T, D), torch.randn(B, G, T, D)
lengths = [7, 10]
expected = torch.stack([
    (q[b] @ k[b, :, :n].repeat_interleave(2, 0).transpose(-1, -2) * 0.25).softmax(-1)
    @ v[b, :, :n].repeat_interleave(2, 0) for b, n in enumerate(lengths)
])
plain = dict(num_key_value_heads=G, input_layout="BNSD")
out = torch_npu.npu_incre_flash_attention(
    q.npu(), k.npu(), v.npu(), num_heads=N, scale_value=0.25, actual_seq_lengths=lengths, **plain)
torch.testing.assert_close(out.cpu(), expected)
table = torch.tensor([[5, 1, 0], [2, 4, 3]], dtype=torch.int32)
pages = [torch.zeros(6, block, G * D) for _ in range(2)]
for page, source in zip(pages, (k, v)):
    flat = torch.nn.functional.pad(source, (0, 0, 0, 2)).transpose(1, 2).flatten(2)
    for b in range(B):
        for i in range(3):
            page[table[b, i]] = flat[b, i * block:(i + 1) * block]
out, lse = torch_npu.npu_fused_infer_attention_score(
    q.npu(), pages[0].npu(), pages[1].npu(), num_heads=N, scale=0.25, actual_seq_lengths_kv=lengths,
    block_table=table.npu(), block_size=block, softmax_lse_flag=True, **plain)
torch.testing.assert_close(out.cpu(), expected)
assert lse.shape == (B, N, 1, 1)
"""


def test_every_layout_gives_the_written_out_result_and_gradients(run: Run) -> None:
    run(_LAYOUTS)


@pytest.mark.parametrize("modes", ["(0, 2)", "(3, 4)"])
def test_sequences_of_their_own_length_follow_the_sparse_mode(run: Run, modes: str) -> None:
    run(_VARLEN.format(modes=modes))


def test_dropout_is_that_of_the_seed_it_returns(run: Run) -> None:
    run(_DROPOUT)


def test_scaled_dot_product_attention_equals_the_cpu(run: Run) -> None:
    run(_SDPA)


def test_caches_in_pages_and_with_lengths(run: Run) -> None:
    run(_INFERENCE)


def test_wrong_arguments_are_refused_in_the_words_of_torch_npu(run: Run) -> None:
    program = """
import torch, torch_npu
x = torch.randn(1, 2, 4, 8).npu()
for change in ({"keep_prob": 0.0}, {"sparse_mode": 9}, {"head_num": 0}, {"input_layout": "XYZ"}):
    arguments = {"head_num": 2, "input_layout": "BNSD", **change}
    try:
        torch_npu.npu_fusion_attention(x, x, x, **arguments)
    except RuntimeError as error:
        print(error)
"""
    assert run(program).stdout.splitlines() == [
        "The keep_prob value must be in range of (0, 1], but got 0.0",
        "The sparse_mode value must be in range of [0,6], but got 9",
        "head_num must > 0, but got 0",
        "The input_layout should be BSH/SBH/BNSD/BSND/TND(case-insensitive), but got XYZ",
    ]
