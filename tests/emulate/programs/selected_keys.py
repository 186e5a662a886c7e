"""Keys chosen by an index, attention over them, caches read back, copies of experts: against loops."""

import torch
import torch_npu

torch.manual_seed(0)
HEADS, SIZE, CHOSEN, SCALE = 4, 16, 5, 0.25
queries, keys = [3, 4], [9, 12]
q, weights = torch.randn(7, HEADS, SIZE), torch.rand(7, HEADS)
pages, page = torch.randn(6, 4, 1, SIZE), 4
table = torch.tensor([[5, 0, 3, 1], [2, 4, 1, 0]], dtype=torch.int32)
rows = [pages[t.long()].reshape(-1, SIZE)[:n] for t, n in zip(table, keys)]
ends = torch.tensor(queries).cumsum(0).int()
paged = {
    "actual_seq_lengths_query": ends.npu(),
    "block_table": table.npu(),
    "layout_query": "TND",
}
found, _ = torch_npu.npu_lightning_indexer(
    q.npu(), pages.npu(), weights.npu(), actual_seq_lengths_key=torch.tensor(keys).int().npu(),
    layout_key="PA_BSND", sparse_count=CHOSEN, **paged,
)  # fmt: skip
assert found.shape == (7, 1, CHOSEN) and found.dtype == torch.int32
out, top, total = torch_npu.npu_sparse_flash_attention(
    q.npu(), pages.npu(), pages.npu(), found, SCALE, actual_seq_lengths_kv=torch.tensor(keys).int().npu(),
    layout_kv="PA_BSND", return_softmax_lse=False, **paged,
)  # fmt: skip
assert out.shape == q.shape and top.numel() == total.numel() == 0
for t in range(7):
    batch = int(t >= 3)
    k = rows[batch][: keys[batch] - queries[batch] + (t - 3 * batch) + 1]
    score = ((q[t] @ k.t()).relu() * weights[t].unsqueeze(-1)).sum(0)
    best = score.topk(min(CHOSEN, len(k))).indices
    chosen = found[t, 0].cpu()
    assert set(chosen[chosen >= 0].tolist()) == set(best.tolist())
    expected = (q[t] @ k[best].t() * SCALE).softmax(-1) @ k[best]
    torch.testing.assert_close(out[t].cpu(), expected, rtol=1e-4, atol=1e-4)

plain = torch.randn(1, 8, 1, SIZE)
every = torch.arange(4).view(1, 1, 1, 4).expand(1, 2, 1, 4).contiguous().int()
asked = torch.randn(1, 2, HEADS, SIZE)
out, top, total = torch_npu.npu_sparse_flash_attention(
    asked.npu(), plain.npu(), plain.npu(), every.npu(), SCALE,
    sparse_block_size=2, sparse_mode=0, return_softmax_lse=True,
)  # fmt: skip
scores = torch.einsum("qnd,kd->nqk", asked[0], plain[0, :, 0]) * SCALE
torch.testing.assert_close(out[0].cpu().transpose(0, 1), scores.softmax(-1) @ plain[0, :, 0], rtol=1e-4, atol=1e-4)
assert top.shape == (1, 1, 2, HEADS)
torch.testing.assert_close((top + total.log())[0, 0].cpu().t(), scores.logsumexp(-1))

gathered = torch.zeros(sum(keys), 1, SIZE).npu(), torch.zeros(sum(keys), 1, SIZE).npu()
torch_npu.npu_gather_pa_kv_cache(pages.npu(), (pages * 2).npu(), table.npu(), torch.tensor(keys).int().npu(), *gathered)
assert torch.equal(gathered[0].cpu().squeeze(1), torch.cat(rows))
assert torch.equal(gathered[1].cpu(), gathered[0].cpu() * 2)

copies = torch.tensor([[1, 7, 0], [2, 3, 5]], dtype=torch.int32)
ids = torch.tensor([[0, 1], [1, 0], [1, 1]], dtype=torch.int32)
for rank, expected in ((0, 3), (3, 5)):
    moved, kept = torch_npu.npu_moe_update_expert(ids.npu(), copies.npu(), local_rank_id=rank, world_size=4)
    assert moved.tolist() == [[7, expected], [expected, 7], [expected, expected]]
moved, kept = torch_npu.npu_moe_update_expert(
    ids.npu(), copies.npu(), balance_mode=1, expert_scales=torch.tensor([[0.9, 0.1]] * 3).npu(),
    pruning_threshold=torch.tensor([0.2, 0.2]).npu(), active_mask=torch.tensor([True, True, False]).npu(),
)  # fmt: skip
assert moved.tolist() == [[7, 3], [5, 7], [3, 3]]
assert kept.tolist() == [[True, False], [True, False], [False, False]]
