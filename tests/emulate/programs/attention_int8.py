import torch
import torch_npu

torch.manual_seed(0)
B, N, G, S, T, D = 2, 4, 2, 4, 5, 16
q, k, v = torch.randn(B, N, S, D), torch.randn(B, G, T, D), torch.randn(B, G, T, D)


def formula(q, k, v):
    k, v = (x.float().repeat_interleave(2, 1) for x in (k, v))
    return (q.float() @ k.transpose(-1, -2) * 0.25).softmax(-1) @ v


def laid(x, layout):
    x = x if layout == "BNSD" else x.transpose(1, 2)
    return x.flatten(2) if layout == "BSH" else x


plain = {"num_heads": N, "num_key_value_heads": G}
scale, offset = torch.rand(N, D) * 50 + 1, torch.rand(N, D)
expected = (formula(q, k, v) * scale.unsqueeze(1) + offset.unsqueeze(1)).round().clamp(-128, 127)
for layout in ("BNSD", "BSND", "BSH"):
    shape = {"BNSD": (1, N, 1, D), "BSND": (N, D), "BSH": (N * D,)}[layout]
    given = {"quant_scale2": scale.reshape(shape).npu(), "quant_offset2": offset.reshape(shape).npu()}
    three = [laid(x, layout).npu() for x in (q, k, v)]
    out, _ = torch_npu.npu_fused_infer_attention_score(*three, scale=0.25, input_layout=layout, **plain, **given)
    assert out.dtype == torch.int8
    assert (out.cpu().float() - laid(expected, layout)).abs().max() <= 1, layout
    flat = {name: x.reshape(N, D).npu() for name, x in (("quant_scale2", scale), ("quant_offset2", offset))}
    again = torch_npu.npu_prompt_flash_attention(
        *three, scale_value=0.25, next_tokens=2147483647, input_layout=layout, **plain, **flat
    )
    assert torch.equal(again, out)

bits = [torch.randint(-128, 128, x.shape, dtype=torch.int8) for x in (q, k, v)]
first, middle, last = torch.tensor([2.0**-10]), torch.tensor([127.0]), torch.tensor([2.0**-9])
expected = formula(bits[0].float() * 2.0**-10, *bits[1:]) * 127 * 2.0**-9
near = {"rtol": 0, "atol": 0.35}  # a step of the weights is 1 / 127
three = [x.npu() for x in bits]
names = ("dequant_scale1", "quant_scale1", "dequant_scale2")
given = dict(zip(names, (x.npu() for x in (first, middle, last)), strict=True))
out, _ = torch_npu.npu_fused_infer_attention_score(*three, scale=0.25, input_layout="BNSD", **plain, **given)
assert out.dtype == torch.float16
torch.testing.assert_close(out.cpu().float(), expected, **near)
one = {"num_heads": N, "num_key_value_heads": G, "scale_value": 0.25, "input_layout": "BNSD"}
out = torch_npu.npu_incre_flash_attention(three[0][:, :, :1].contiguous(), *three[1:], **one, **given)
torch.testing.assert_close(out.cpu().float(), expected[:, :, :1], **near)
given.pop("quant_scale1")
try:
    torch_npu.npu_fused_infer_attention_score(*three, scale=0.25, input_layout="BNSD", **plain, **given)
except NotImplementedError as error:
    print(error)
