import torch
import torch_npu

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
for own, leaf in zip((q, k, v), leaves, strict=True):
    torch.testing.assert_close(own.grad.cpu(), leaf.grad, rtol=1e-4, atol=1e-5)
