import torch
import torch_npu

torch.manual_seed(0)
T, He, Hcq, N, D, Dr, Hckv = 3, 8, 6, 2, 4, 4, 5


def make(*n):
    return torch.randn(*n).npu()


x, dq, uq, uk, dkv = make(T, He), make(He, Hcq), make(Hcq, N * (D + Dr)), make(N, D, Hckv), make(He, Hckv + Dr)
gq, gkv, sin, cos = make(Hcq), make(Hckv), make(T, Dr), make(T, Dr)
kv, kr = torch.zeros(2, 4, 1, Hckv).npu(), torch.zeros(2, 4, 1, Dr).npu()
index = torch.tensor([5, 0, 3]).npu()
q, rope, kv2, kr2 = torch_npu.npu_mla_prolog(x, dq, uq, uk, dkv, gq, gkv, sin, cos, index, kv, kr)


def norm(t, g):
    return torch.nn.functional.rms_norm(t, t.shape[-1:], g, 1e-5)


def rotate(t, c, s):
    real, imaginary = t[..., ::2], t[..., 1::2]
    c1, c2, s1, s2 = c[..., : Dr // 2], c[..., Dr // 2 :], s[..., : Dr // 2], s[..., Dr // 2 :]
    return torch.cat([real * c1 - imaginary * s1, imaginary * c2 + real * s2], -1)


up = (norm(x @ dq, gq) @ uq).view(T, N, D + Dr)
assert torch.allclose(q, torch.einsum("tnd,ndc->tnc", up[..., :D], uk), atol=1e-4)
assert torch.allclose(rope, rotate(up[..., D:], cos[:, None], sin[:, None]), atol=1e-4)
assert kv2.data_ptr() == kv.data_ptr() and kr2.data_ptr() == kr.data_ptr()
assert torch.allclose(kv.view(8, -1)[index], norm((x @ dkv)[:, :Hckv], gkv), atol=1e-4)
assert torch.allclose(kr.view(8, -1)[index], rotate((x @ dkv)[:, Hckv:], cos, sin), atol=1e-4)
assert kv.view(8, -1)[1].abs().sum() == 0
first = (x, dq, uq, uk, dkv, gq, gkv, sin, cos)
third = torch_npu.npu_mla_prolog_v3_functional(*first, kv * 0, kr * 0, cache_index=index, query_norm_flag=True)
assert torch.equal(third[0], q.bfloat16()) and torch.equal(third[1], rope.bfloat16()) and torch.equal(third[5], kv)
assert torch.equal(third[3], norm(x @ dq, gq)) and third[2].numel() == third[4].numel() == 0
token = x.abs().amax(-1, keepdim=True) / 127
columns = [w.abs().amax(0, keepdim=True) / 127 for w in (dq, uq, dkv)]
eight = [(t / s).round().to(torch.int8) for t, s in zip((x, dq, uq, dkv), (token, *columns), strict=True)]
names = ("dequant_scale_w_dq", "dequant_scale_w_uq_qr", "dequant_scale_w_dkv_kr")
short = torch.zeros(2, 4, 1, Hckv, dtype=torch.int8).npu()
out = torch_npu.npu_mla_prolog_v3(
    eight[0],
    eight[1],
    eight[2],
    uk.bfloat16(),
    eight[3],
    *first[5:],
    short,
    kr.clone(),
    cache_index=index,
    dequant_scale_x=token,
    quant_scale_ckv=torch.tensor([30.0]).npu(),
    weight_quant_mode=2,
    kv_cache_quant_mode=1,
    query_quant_mode=1,
    **dict(zip(names, columns, strict=True)),
)
assert out[0].dtype == torch.int8 and torch.allclose(out[0] * out[2], q, atol=0.3, rtol=0.1)
assert torch.allclose(short / 30, kv, atol=0.1)
try:
    torch_npu.npu_mla_prolog(x, dq, uq, uk, dkv, gq, gkv, sin, cos, index, kv, kr, cache_mode="PA_NZ")
except NotImplementedError as error:
    print(error)
