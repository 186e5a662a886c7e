import torch
import torch_npu

torch.manual_seed(0)
B, N, G, T, D, block = 2, 4, 2, 10, 16, 4
q, k, v = torch.randn(B, N, 1, D), torch.randn(B, G, T, D), torch.randn(B, G, T, D)
lengths = [7, 10]
expected = torch.stack(
    [
        (q[b] @ k[b, :, :n].repeat_interleave(2, 0).transpose(-1, -2) * 0.25).softmax(-1)
        @ v[b, :, :n].repeat_interleave(2, 0)
        for b, n in enumerate(lengths)
    ]
)
plain = {"num_key_value_heads": G, "input_layout": "BNSD"}
out = torch_npu.npu_incre_flash_attention(
    q.npu(), k.npu(), v.npu(), num_heads=N, scale_value=0.25, actual_seq_lengths=lengths, **plain
)
torch.testing.assert_close(out.cpu(), expected)
table = torch.tensor([[5, 1, 0], [2, 4, 3]], dtype=torch.int32)
pages = [torch.zeros(6, block, G * D) for _ in range(2)]
for page, source in zip(pages, (k, v), strict=True):
    flat = torch.nn.functional.pad(source, (0, 0, 0, 2)).transpose(1, 2).flatten(2)
    for b in range(B):
        for i in range(3):
            page[table[b, i]] = flat[b, i * block : (i + 1) * block]
out, lse = torch_npu.npu_fused_infer_attention_score(
    q.npu(),
    pages[0].npu(),
    pages[1].npu(),
    num_heads=N,
    scale=0.25,
    actual_seq_lengths_kv=lengths,
    block_table=table.npu(),
    block_size=block,
    softmax_lse_flag=True,
    **plain,
)
torch.testing.assert_close(out.cpu(), expected)
assert lse.shape == (B, N, 1, 1)
