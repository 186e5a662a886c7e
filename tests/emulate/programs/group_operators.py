"""Operators that exchange data between ranks inside one kernel, against the products written out; run by ranks.py."""

import torch
import torch.distributed as dist
import torch_npu

from jumar.emulate.companions import vllm_ascend

FUSED = (
    "dispatch_gmm_combine_decode(Tensor x, Tensor expert_ids, Tensor[] gmm1_permuted_weight,"
    " Tensor[] gmm1_permuted_weight_scale, Tensor[] gmm2_weight, Tensor[] gmm2_weight_scale, Tensor expert_scales,"
    " Tensor? expert_smooth_scales=None, Tensor? x_active_mask=None, str group_ep='', int ep_rank_size=0,"
    " int ep_rank_id=0, int moe_expert_num=0, int shared_expert_num=1, int shared_expert_rank_num=0, int quant_mode=0,"
    " int global_bs=0) -> (Tensor output, Tensor expert_token_nums)",
    "dispatch_ffn_combine(Tensor x, Tensor[] weight1, Tensor[] weight2, Tensor expert_idx, Tensor[] scale1,"
    " Tensor[] scale2, Tensor probs, str group, int max_output_size, Tensor! out, Tensor! expert_token_nums)"
    " -> (Tensor out, Tensor expert_token_nums)",
)


def name_of(rank):
    return dist.distributed_c10d._get_default_group()._get_backend(torch.device("npu")).get_hccl_comm_name(rank)


def operands(rank, rows, inner, columns):
    """What every rank can know of each other."""
    torch.manual_seed(rank)
    return torch.randn(rows, inner).half(), torch.randn(inner, columns).half()


def products(rank, size, group):
    everyone = [operands(r, 8, 16, 12) for r in range(size)]
    x, w = everyone[rank]
    parts = [(a.float() @ b.float()).half() for a, b in everyone]
    total = sum(part.float() for part in parts)
    close = {"rtol": 4e-3, "atol": 4e-2}
    reduced = torch_npu.npu_mm_all_reduce_base(x.npu(), w.npu(), group).cpu()
    torch.testing.assert_close(reduced.float(), total, **close)
    scattered = torch_npu.npu_mm_reduce_scatter_base(x.npu(), w.npu(), group, size).cpu()
    torch.testing.assert_close(scattered.float(), total.chunk(size)[rank], **close)
    whole = torch.cat([a for a, _ in everyone])
    y, gathered = torch_npu.npu_all_gather_base_mm(x.npu(), w.npu(), group, size)
    assert torch.equal(gathered.cpu(), whole)
    torch.testing.assert_close(y.cpu().float(), whole.float() @ w.float(), **close)
    moved = torch_npu.npu_matmul_all_to_all(x.npu(), w.npu(), group, size).cpu()
    torch.testing.assert_close(moved.float(), torch.cat([p.chunk(size, 1)[rank] for p in parts]).float(), **close)
    tall = torch.randn(16 * size, 5).half()
    y, mixed = torch_npu.npu_all_to_all_matmul(x.npu(), tall.npu(), group, size)
    assert torch.equal(mixed.cpu(), torch.cat([a.chunk(size)[rank] for a, _ in everyone], 1))
    torch.testing.assert_close(y.cpu().float(), mixed.cpu().float() @ tall.float(), **close)


def integer_products(rank, size, group):
    def ints(r):
        torch.manual_seed(r)
        return [torch.randint(-9, 9, shape, dtype=torch.int8) for shape in ((4, 8), (8, 6))]

    everyone = [ints(r) for r in range(size)]
    scale, tokens = torch.rand(6) + 0.1, torch.rand(4) + 0.1
    dist.broadcast(shared := torch.cat([scale, tokens]).npu(), 0)
    scale, tokens = shared.cpu()[:6], shared.cpu()[6:]
    x, w = everyone[rank]
    found = torch_npu.npu_mm_all_reduce_base(
        x.npu(), w.npu(), group, dequant_scale=scale.npu(), pertoken_scale=tokens.npu()
    ).cpu()
    parts = [(a.float() @ b.float() * scale * tokens.unsqueeze(1)).half().float() for a, b in everyone]
    torch.testing.assert_close(found.float(), sum(parts), rtol=4e-3, atol=4e-2)
    scattered_integers(rank, size, group, everyone, scale, 1000 * tokens.unsqueeze(1))
    anti = (torch.rand(6) + 0.1).half()
    half = x.half()
    found = torch_npu.npu_mm_all_reduce_base(half.npu(), w.npu(), group, antiquant_scale=anti.npu()).cpu()
    mine = [torch.zeros_like(found).npu() for _ in range(size)]
    dist.all_gather(mine, (half.float() @ (w.float() * anti.float())).half().npu())
    torch.testing.assert_close(found.float(), sum(t.cpu().float() for t in mine), rtol=4e-3, atol=4e-2)


def scattered_integers(rank, size, group, everyone, scale, tokens):
    """The chip rounds the product of each rank before it adds; the sum of the unrounded ones is another."""
    x, w = everyone[rank]
    scales = {"x1_scale": tokens.npu(), "x2_scale": scale.unsqueeze(0).npu()}
    found = torch_npu.npu_mm_reduce_scatter_base(
        x.npu(), w.npu(), group, size, **scales, output_dtype=torch.bfloat16, comm_mode="aiv"
    ).cpu()
    parts = [a.float() @ b.float() * scale * tokens for a, b in everyone]
    total = sum(part.bfloat16().float() for part in parts).bfloat16()
    assert torch.equal(found, total.chunk(size)[rank])
    assert not torch.equal(total, sum(parts).bfloat16())


def experts(rank, size, group):
    """Tokens go to their experts and come back: with experts that multiply, the result is known without an exchange."""
    per_rank, hidden, rows = 2, 8, 5
    number = per_rank * size
    torch.manual_seed(100 + rank)
    x = torch.randn(rows, hidden).half()
    chosen = torch.stack([torch.randperm(number)[:3] for _ in range(rows)]).int()
    weights = torch.rand(rows, 3)
    mask = torch.tensor([True] * (rows - 1) + [False])
    for version, active in (("", None), ("_v2", None), ("_v2", mask)):
        dispatch = getattr(torch_npu, f"npu_moe_distribute_dispatch{version}")
        combine = getattr(torch_npu, f"npu_moe_distribute_combine{version}")
        more = {} if active is None else {"x_active_mask": active.npu()}
        place = {"group_ep": group, "ep_world_size": size, "ep_rank_id": rank, "moe_expert_num": number}
        out, _, info, counts, received, *_ = dispatch(x.npu(), chosen.npu(), **place, **more)
        owner = torch.repeat_interleave(torch.arange(per_rank), counts.cpu()) + rank * per_rank
        worked = out.cpu().float()
        worked[: len(owner)] *= (owner + 1.0).unsqueeze(1)
        found = combine(worked.half().npu(), chosen.npu(), info, received, weights.npu(), **place, **more).cpu()
        expected = x.float() * ((chosen + 1) * weights).sum(1, keepdim=True)
        if active is not None:
            expected[~active] = 0
        torch.testing.assert_close(found.float(), expected, rtol=4e-3, atol=4e-2)
    eight, scales, *_ = dispatch(x.npu(), chosen.npu(), **place, quant_mode=2)
    assert eight.dtype == torch.int8
    torch.testing.assert_close(
        eight.cpu().float() * scales.cpu().unsqueeze(1), out_of(dispatch, x, chosen, place), rtol=0.02, atol=0.02
    )


def out_of(dispatch, x, chosen, place):
    return dispatch(x.npu(), chosen.npu(), **place)[0].cpu().float()


def grouped(rank, size, group):
    """Every rank sends one more token to each next expert."""
    per_rank = 2
    send = [1 + (rank + at) % 3 for at in range(size * per_rank)]
    receive = [1 + (r + rank * per_rank + e) % 3 for r in range(size) for e in range(per_rank)]
    torch.manual_seed(rank)
    x, w = torch.randn(sum(send), 6).half(), torch.randn(per_rank, 6, 4).half()
    weights = [torch.zeros_like(w).npu() for _ in range(size)]
    dist.all_gather(weights, w.npu())
    every = torch.cat([t.cpu() for t in weights]).float()
    y, _, rows = torch_npu.npu_alltoallv_gmm(x.npu(), w.npu(), group, size, send, receive, permute_out_flag=True)
    back, _ = torch_npu.npu_gmm_alltoallv(rows, w.npu(), group, size, receive, send)
    owners = torch.repeat_interleave(torch.arange(size * per_rank), torch.tensor(send))
    expected = torch.einsum("td,tdn->tn", x.float(), every[owners])
    torch.testing.assert_close(back.cpu().float(), expected, rtol=4e-3, atol=2e-2)
    assert y.shape == (sum(receive), 4)


def vllm_experts(rank, size, group):
    """The fused layers of vllm-ascend, whose compiled part is declared here, against the layers of one card."""
    library = torch.library.Library(vllm_ascend.SPACE, "DEF")
    for schema in FUSED:
        library.define(schema)
        library.impl(schema.partition("(")[0], lambda *_, **__: 1 / 0, "PrivateUse1")
    vllm_ascend.after(torch)
    op = torch.ops._C_ascend
    per_rank, hidden, inner, rows = 2, 8, 6, 5
    number = per_rank * size
    torch.manual_seed(7)
    up, down = torch.randn(number, hidden, 2 * inner), torch.randn(number, inner, hidden)
    torch.manual_seed(200 + rank)
    x = torch.randn(rows, hidden).half()
    chosen = torch.stack([torch.randperm(number)[:3] for _ in range(rows)]).int()
    weights = torch.rand(rows, 3)
    given = x.npu(), chosen.npu(), weights.npu()
    mine = slice(rank * per_rank, (rank + 1) * per_rank)

    def whole(up, down):
        gate, value = torch.einsum("th,tkhn->tkn", x.float(), up[chosen.long()]).chunk(2, -1)
        out = torch.einsum("tkn,tknh->tkh", torch.nn.functional.silu(gate) * value, down[chosen.long()])
        return (out * weights.unsqueeze(-1)).sum(1)

    def decoded(up, down, scales):
        place = {"group_ep": group, "ep_rank_size": size, "ep_rank_id": rank, "moe_expert_num": number}
        x, chosen, weights = given
        return op.dispatch_gmm_combine_decode(x, chosen, up, scales[0], down, scales[1], weights, **place)

    def combined(up, down, scales, most=100):
        x, chosen, weights = given
        out, counts = torch.zeros_like(x), torch.zeros(1, per_rank, dtype=torch.int32).npu()
        op.dispatch_ffn_combine(x, up, down, chosen, *scales, weights, group, most, out, counts)
        return out, counts

    halves = [[t[mine].half().npu()] for t in (up, down)]
    dummies = [[torch.ones(1).npu()]] * 2
    every = [torch.zeros_like(given[1]) for _ in range(size)]
    dist.all_gather(every, given[1])
    tokens = torch.bincount(torch.cat(every).flatten().cpu(), minlength=number)[mine].tolist()
    for call in (decoded, combined):
        out, counts = call(*halves, dummies)
        torch.testing.assert_close(
            out.cpu().float(), whole(up.half().float(), down.half().float()), rtol=1e-2, atol=0.1
        )
        assert counts.flatten().tolist() == tokens
    assert not combined(*halves, dummies, 0)[0].any()

    def eight(t):
        scale = t.abs().amax(1) / 127
        return (t / scale.unsqueeze(1)).round().to(torch.int8), scale

    (up8, scale1), (down8, scale2) = eight(up), eight(down)
    exact = whole(up8.float() * scale1.unsqueeze(1), down8.float() * scale2.unsqueeze(1))
    lists = [[t.npu() for t in many[mine]] for many in (up8, down8)]
    packed = [[t.view(torch.int32).long().npu() for t in many[mine]] for many in (scale1, scale2)]
    plain = [[many[mine].npu()] for many in (scale1, scale2)]
    for call, scales in ((decoded, plain), (combined, packed)):
        torch.testing.assert_close(call(*lists, scales)[0].cpu().float(), exact, rtol=0.05, atol=0.3)


def main(rank, size):
    start(rank, size)  # noqa: F821
    group = name_of(rank)
    for check in (products, integer_products, experts, grouped, vllm_experts):
        check(rank, size, group)
    try:
        torch_npu.npu_mm_reduce_scatter_base(torch.ones(3, 4).npu(), torch.ones(4, 4).npu(), group, size)
    except RuntimeError as error:
        say(str(error).splitlines()[0])  # noqa: F821
    dist.barrier()
