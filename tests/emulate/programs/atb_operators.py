"""The operators of ATB against attention, rotation and rounding written out with torch."""

import torch
import torch_npu
from torch.nn import functional as F

torch.manual_seed(0)
HEADS, FEWER, SIZE, SCALE = 4, 2, 16, 0.3
CLOSE = {"rtol": 2e-3, "atol": 2e-3}


def written_out(q, k, v, bias=None):
    q, k, v = (t.float().transpose(0, 1) for t in (q, k, v))
    k, v = (t.repeat_interleave(q.shape[0] // t.shape[0], 0) for t in (k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=SCALE).transpose(0, 1)


def causal(rows, columns):
    return torch.full((rows, columns), float("-inf")).triu(columns - rows + 1)


lengths = [5, 9]
q, k, v = (torch.randn(sum(lengths), n, SIZE).half() for n in (HEADS, FEWER, FEWER))
parts = [slice(0, 5), slice(5, 14)]
seq = torch.tensor(lengths, dtype=torch.int32)
plain = torch.cat([written_out(q[p], k[p], v[p]) for p in parts])
masked = torch.cat([written_out(q[p], k[p], v[p], causal(n, n)) for p, n in zip(parts, lengths)])
card = [t.npu() for t in (q, k, v)]
out = torch.zeros_like(card[0])
torch_npu._npu_flash_attention_unpad(*card, seq, SCALE, HEADS, FEWER, out)
torch.testing.assert_close(out.cpu().float(), plain, **CLOSE)
for mask in (torch.full((16, 16), -10000.0).triu(1).half(), torch.ones(16, 16).triu(1).bfloat16()):
    torch_npu._npu_flash_attention(*card, mask.npu(), seq, SCALE, HEADS, FEWER, out)
    torch.testing.assert_close(out.cpu().float(), masked, **CLOSE)
slopes = torch.tensor([0.5, 0.25, 0.125, 0.0625])
distance = torch.arange(9).unsqueeze(1) - torch.arange(9)
for kind, steps in ((4, distance.float()), (5, distance.clamp(min=0).sqrt())):
    bias = (-slopes.view(-1, 1, 1) * steps).masked_fill(distance < 0, float("-inf"))
    expected = torch.cat([written_out(q[p], k[p], v[p], bias[:, :n, :n]) for p, n in zip(parts, lengths)])
    words = {"mask_type": kind, "scale_value": SCALE, "num_heads": HEADS, "num_kv_heads": FEWER}
    far = torch.arange(256.0).unsqueeze(1) - torch.arange(256.0)
    compressed = (far.abs().sqrt() if kind == 5 else far).half().npu()
    torch_npu.atb._npu_flash_attention_v2(*card, lengths, mask=compressed, slopes=-slopes.npu(), **words, out=out)
    torch.testing.assert_close(out.cpu().float(), expected, **CLOSE)

# A cache in pages of eight rows, filled by slots, read back and attended to.
pages, size = 6, 8
keys, values = (torch.zeros(pages, size, FEWER, SIZE).half().npu() for _ in range(2))
table = torch.tensor([[4, 0], [2, 5]], dtype=torch.int32)
slots = torch.cat([table[i, torch.arange(n) // size] * size + torch.arange(n) % size for i, n in enumerate(lengths)])
torch_npu._npu_reshape_and_cache(card[1], card[2], keys, values, slots.int().npu())
loaded = torch_npu.atb.npu_paged_cache_load(keys, values, table.npu(), seq.npu())
assert torch.equal(loaded[0].cpu(), k) and torch.equal(loaded[1].cpu(), v)
last = torch.stack([q[4], q[13]])
expected = torch.cat([written_out(last[i : i + 1], k[p], v[p]) for i, p in enumerate(parts)])
out = torch.zeros(2, HEADS, SIZE).half().npu()
torch_npu._npu_paged_attention(last.npu(), keys, values, FEWER, HEADS, SCALE, table.npu(), seq, out)
torch.testing.assert_close(out.cpu().float(), expected, **CLOSE)
rows = [2, 3]
tails = torch.cat([q[3:5], q[11:14]])
expected = torch.cat(
    [written_out(t, k[p], v[p], causal(r, n)) for t, p, r, n in zip(tails.split(rows), parts, rows, lengths)]
)
out = torch.zeros(5, HEADS, SIZE).half().npu()
positions = torch.tensor([3, 4, 6, 7, 8])
splitfuse = torch.full((16, 16), -10000.0).triu(1).half()[positions].npu()
asked = torch.tensor(rows, dtype=torch.int32)
torch_npu._npu_paged_attention_splitfuse(
    tails.npu(), keys, values, table.npu(), seq, splitfuse, asked, FEWER, HEADS, SCALE, out
)
torch.testing.assert_close(out.cpu().float(), expected, **CLOSE)
out.zero_()
compressed = torch.zeros(128, 128).half().npu()
torch_npu._npu_flash_attention_qlens(
    tails.npu(), keys, values, table.npu(), compressed, asked, seq, FEWER, HEADS, SCALE, out
)
torch.testing.assert_close(out.cpu().float(), expected, **CLOSE)

# The encoder with a prefix takes the same pages: its own mask, a compressed one, biases by distance, or its out= form.
encode = torch.ops.atb.npu_self_attention_prefix_encoder
given = (tails.npu(), keys, values, table.npu(), rows, lengths, HEADS, SCALE, FEWER)
for words in ({}, {"mask": compressed, "mask_type": "mask_type_norm_compress"}):
    got = encode(*given, **words)
    assert got.shape == tails.shape and got.dtype == tails.dtype
    torch.testing.assert_close(got.cpu().float(), expected, **CLOSE)
out.zero_()
encode.out(*given, output=out)
torch.testing.assert_close(out.cpu().float(), expected, **CLOSE)
far = torch.arange(256.0).unsqueeze(1) - torch.arange(256.0)
for kind, near in (("alibi_compress", lambda d: d), ("alibi_compress_sort", lambda d: d.abs().sqrt())):
    biased = []
    for t, p, r, n in zip(tails.split(rows), parts, rows, lengths):
        steps = torch.arange(n - r, n).unsqueeze(1) - torch.arange(n)
        bias = (-slopes.view(-1, 1, 1) * near(steps.float())).masked_fill(steps < 0, float("-inf"))
        biased.append(written_out(t, k[p], v[p], bias))
    got = encode(*given, mask=near(far).half().npu(), slopes=-slopes.npu(), mask_type=f"mask_type_{kind}")
    torch.testing.assert_close(got.cpu().float(), torch.cat(biased), **CLOSE)

# Two steps around a ring are the whole.
nope, rope = torch.randn(6, HEADS, 128).half(), torch.randn(6, HEADS, 64).half()
k_nope, k_rope, value = (torch.randn(10, HEADS, n).half() for n in (128, 64, 128))
whole = written_out(torch.cat([nope, rope], -1), torch.cat([k_nope, k_rope], -1), value)
found, mask = (None, None), torch.zeros(512, 512).half().npu()
for start, stop, kind in ((0, 4, "calc_type_first_ring"), (4, 10, "calc_type_default")):
    part = [t[start:stop].npu() for t in (k_nope, k_rope, value)]
    found = torch_npu.atb.npu_ring_mla(
        nope.npu(), rope.npu(), *part, mask, torch.tensor([[6], [stop - start]]), HEADS, HEADS,
        pre_out=found[0], prev_lse=found[1], qk_scale=SCALE, calc_type=kind,
    )  # fmt: skip
torch.testing.assert_close(found[0].cpu().float(), whole, **CLOSE)

# Rotation of halves and of neighbours.
angles = torch.rand(20, SIZE // 2)
cache = torch.cat([angles.cos(), angles.sin()], -1)
places = torch.tensor([3, 19, 0])
for neox in (True, False):
    x = torch.randn(3, HEADS * SIZE)
    spread = (lambda t: torch.cat([t, t], -1)) if neox else (lambda t: t.repeat_interleave(2, -1))
    cos, sin = (spread(t[places]).unsqueeze(1) for t in (angles.cos(), angles.sin()))
    heads = x.view(3, HEADS, SIZE)
    if neox:
        turned = torch.cat([-heads[..., SIZE // 2 :], heads[..., : SIZE // 2]], -1)
    else:
        turned = torch.stack([-heads[..., 1::2], heads[..., ::2]], -1).flatten(-2)
    query, key = x.npu(), x.clone().npu()
    torch_npu._npu_rotary_embedding(places.npu(), query, key, SIZE, cache.npu(), neox)
    for result in (query, key):
        torch.testing.assert_close(result.cpu().view(3, HEADS, SIZE), heads * cos + turned * sin)

# Rounding, sums and the choice of groups.
x, scale, offset = torch.randn(4, 8) * 20, torch.rand(8) + 0.1, torch.randint(-9, 9, (8,)).to(torch.int8)
y = torch.zeros(4, 8, dtype=torch.int8).npu()
torch_npu._npu_quantize_per_tensor(x.npu(), scale.npu(), offset.npu(), y)
assert torch.equal(y.cpu().float(), ((x / scale).round() + offset).clamp(-128, 127))
total = torch.ones(3, 5)
a, b = torch.randn(7, 3).half(), torch.randn(7, 5).half()
card_total = total.npu()
torch_npu._npu_matmul_add_fp32(a.npu(), b.npu(), card_total)
torch.testing.assert_close(card_total.cpu(), total + a.float().t() @ b.float())
groups = torch.tensor([[3.0, 1.0, 5.0, 0.0, 2.0, 2.5]]).half().npu()
torch_npu._npu_group_topk(groups, k=1, group_num=3, n=2)
assert groups.tolist() == [[0, 0, 5, 0, 0, 0]]
scores = torch.randn(5, 8)
y, chosen = torch_npu.atb.npu_fused_add_topk_div(
    scores.npu(), torch.zeros(8).npu(), group_num=1, group_topk=1, n=1, k=3, scale=2.0
)
best = scores.sigmoid().topk(3)
torch.testing.assert_close(y.cpu(), best.values / best.values.sum(-1, keepdim=True) * 2)
assert torch.equal(chosen.cpu().long(), best.indices) and chosen.dtype == torch.int32
