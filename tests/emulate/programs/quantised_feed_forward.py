import torch
import torch_npu

torch.manual_seed(0)
x, w1, w2 = (torch.randint(-128, 128, n, dtype=torch.int8) for n in ((3, 8), (8, 16), (16, 4)))
first, second = torch.rand(16) * 1e-3, torch.rand(4) * 1e-3
scales = {"scale": torch.tensor([2.0]), "offset": torch.tensor([1.0]), "deq_scale1": first, "deq_scale2": second}
out = torch_npu.npu_ffn(x.npu(), w1.npu(), w2.npu(), "relu", **{k: t.npu() for k, t in scales.items()})
inner = ((x.float() @ w1.float() * first).relu() * 2 + 1).round().clamp(-128, 127)
assert out.dtype == torch.half and torch.allclose(out.float().cpu(), inner @ w2.float() * second, atol=1e-3, rtol=1e-3)
