import torch
import torch_npu

torch.manual_seed(0)
x, w = torch.randn(8, 32), torch.randn(32, 16)
quantised, scale = torch_npu.npu_dynamic_quant(x.half().npu())
assert quantised.dtype == torch.int8 and scale.shape == (8,)
columns = w.abs().amax(0) / 127
weight = (w / columns).round().to(torch.int8)
out = torch_npu.npu_quant_matmul(
    quantised, weight.npu(), columns.npu(), pertoken_scale=scale, output_dtype=torch.float16
)
assert (out.cpu().float() - x @ w).abs().max() < 0.5
packed = torch_npu.npu_convert_weight_to_int4pack((weight // 16).int().npu())
assert packed.shape == (32, 2)
unpacked = torch_npu.npu_weight_quant_batchmatmul(x.half().npu(), packed, (columns * 16).half().npu())
torch.testing.assert_close(
    unpacked.cpu().float(),
    x.half().float() @ ((weight // 16).float() * (columns * 16).half().float()),
    rtol=1e-2,
    atol=1e-2,
)
exact = torch_npu.npu_trans_quant_param(torch.tensor([2.0, 0.5]).npu())
assert exact.dtype == torch.int64 and exact.cpu()[0].item() & 0xFFFFFFFF == 0x40000000

# Four-bit weights of two experts, a row of scales per half of the inner elements, a gate, eight bits per token.
x, w = torch.randint(-100, 100, (5, 64), dtype=torch.int8), torch.randint(-8, 8, (2, 64, 32))
scales, tokens, ends = torch.rand(2, 2, 32) * 0.01, torch.rand(5), torch.tensor([2, 5])
halves = w.float().view(2, 2, 32, 32)
assist = 8 * (halves.sum(2) * scales).sum(1)
packed = torch.stack([torch_npu.npu_convert_weight_to_int4pack(t.int().npu()) for t in w])
out, out_scale = torch_npu.npu_grouped_matmul_swiglu_quant_v2(
    x.npu(), [packed], [scales.npu()], tokens.npu(), ends.npu(), weight_assist_matrix=[assist.npu()], dequant_mode=1
)
expert = torch.tensor([0, 0, 1, 1, 1])
y = torch.einsum("tgk,tgkn,tgn->tn", x.float().view(5, 2, 32), halves[expert], scales[expert]) * tokens.unsqueeze(1)
gate, up = y.chunk(2, -1)
expected = torch.nn.functional.silu(gate) * up
assert ((out.cpu().float() * out_scale.cpu().unsqueeze(1) - expected).abs() <= out_scale.cpu().unsqueeze(1)).all()
