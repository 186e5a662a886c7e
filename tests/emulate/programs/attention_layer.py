import torch
import torch_npu

torch.manual_seed(0)
batch, heads, size, length = 2, 16, 16, 16
width = heads * size
x = [torch.randn(batch * length, width, dtype=torch.float64) for _ in range(3)]
w = [torch.randn(width, width, dtype=torch.float64) / 16 for _ in range(4)]
b = [torch.randn(width, dtype=torch.float64) for _ in range(4)]
mask, grad = torch.randn(batch, heads, length, length, dtype=torch.float64), torch.randn(batch * length, width)
cpu = [t.clone().requires_grad_() for t in (*x, *w, *b)]
npu = [t.npu().requires_grad_() for t in (*x, *w, *b)]


def split(t):
    return t.view(batch, length, heads, size).transpose(1, 2)


q, k, v = (split(torch.nn.functional.linear(cpu[i], cpu[3 + i], cpu[7 + i])) for i in range(3))
out = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).reshape(-1, width)
out = torch.nn.functional.linear(out, cpu[6], cpu[10])
out.backward(grad.double())
call = torch_npu.npu_multi_head_attention
sizes = (heads, size, length, length)
got = call(*npu[:6], mask.npu(), npu[6], *npu[7:], None, *sizes, 0.0, True)
got[0].backward(grad.double().npu())
assert torch.allclose(got[0].cpu(), out)
for name, left, right in zip("qkvabcdwxyz", cpu, npu, strict=True):
    assert torch.allclose(left.grad, right.grad.cpu().view(left.shape)), name
half = call(*npu[:6], mask.npu(), npu[6], *npu[7:], None, *sizes, 0.5, True)
again = call(*npu[:6], mask.npu(), npu[6], *npu[7:], half[1], *sizes, 0.5, True)
assert torch.equal(half[0], again[0]) and (half[6] == 0).double().mean().sub(0.5).abs() < 0.05
try:
    call(*npu[:6], mask.npu(), npu[6], *npu[7:], None, 3, size, length, length, 0.0, True)
except RuntimeError as error:
    print(error)
