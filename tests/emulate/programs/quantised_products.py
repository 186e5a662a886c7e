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
