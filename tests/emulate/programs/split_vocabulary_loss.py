import torch
import torch_npu

torch.manual_seed(0)
x, w, target = torch.randn(9, 4), torch.randn(12, 4), torch.randint(0, 12, (9,))
leaf, weight = x.clone().requires_grad_(), w.clone().requires_grad_()
loss = torch.nn.functional.cross_entropy(leaf @ weight.t(), target, reduction="none")
loss.sum().backward()
halves = []
for start in (0, 6):  # two cards with half of the vocabulary each
    part = w[start : start + 6].npu()
    found = torch_npu.npu_fused_linear_online_max_sum(x.npu(), part, target.npu(), start, start + 5, True)
    halves.append((part, found))
top = torch.maximum(halves[0][1][0], halves[1][1][0])
sums = sum(r[1] * (r[0] - top).exp() for _, r in halves)
shifts = []
for _, (own, _, predicted, mask, _, _) in halves:
    here = torch.tensor([not (int(mask[i // 8]) >> (7 - i % 8)) & 1 for i in range(9)]).npu()
    shifts.append(torch.where(here, predicted + own - top, torch.zeros_like(top)))
assert mask.shape == (2,) and int(mask[1]) & 127 == 127  # rows that are not there count as elsewhere
predicted = sum(shifts)
value, none = torch_npu.npu_fused_cross_entropy_loss_with_max_sum(top, sums, predicted)
assert torch.allclose(value.cpu(), loss, atol=1e-5) and none is None
grads = []
for part, (_, _, _, mask, place, logits) in halves:
    softmax = torch_npu.npu_fused_cross_entropy_loss_with_max_sum(top, sums, predicted, vocab_parallel_logits=logits)[1]
    call = torch_npu.npu_fused_linear_cross_entropy_loss_with_max_sum_backward
    ones = torch.ones(9).npu()
    fast = call(ones, x.npu(), part, mask, place, softmax=softmax)
    small = call(ones, x.npu(), part, mask, place, logits_max=top, sum_exp_logits=sums)
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(fast, small, strict=True))
    grads.append(fast)
assert torch.allclose((grads[0][0] + grads[1][0]).cpu(), leaf.grad, atol=1e-5)
assert torch.allclose(torch.cat([grads[0][1], grads[1][1]]).cpu(), weight.grad, atol=1e-5)
