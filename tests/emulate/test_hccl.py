"""Process groups of torch_npu's own ProcessGroupHCCL over the stand-in of HCCL: results, order, many groups."""

from __future__ import annotations

from ranks import Ranks

_COLLECTIVES = """
def main(rank, size):
    start(rank, size)
    npu = lambda *values: torch.tensor(values, dtype=torch.float32).npu()
    x = npu(rank + 1.0, 2.0)
    dist.all_reduce(x)
    say(x.tolist())
    for op in (dist.ReduceOp.PRODUCT, dist.ReduceOp.MAX, dist.ReduceOp.MIN, dist.ReduceOp.AVG):
        x = npu(rank + 1.0)
        dist.all_reduce(x, op)
        say(x.item())
    x = npu(float(rank), 7.0)
    dist.broadcast(x, 2)
    say(x.tolist())
    x = npu(rank + 1.0)
    dist.reduce(x, 1)
    say(x.item() if rank == 1 else None)
    parts = [torch.zeros(3).npu() for _ in range(size)]
    dist.all_gather(parts, torch.full((3,), float(rank)).npu())
    say([part.tolist() for part in parts])
    whole = torch.zeros(size * 2).npu()
    dist.all_gather_into_tensor(whole, npu(rank, rank + 0.5))
    say(whole.tolist())
    out = torch.zeros(2).npu()
    dist.reduce_scatter_tensor(out, torch.arange(size * 2.0).npu() + rank)
    say(out.tolist())
    dist.reduce_scatter(out, [torch.full((2,), float(rank * to)).npu() for to in range(size)])
    say(out.tolist())
    dist.scatter(out, [torch.full((2,), to + 0.5).npu() for to in range(size)] if rank == 0 else None, 0)
    say(out.tolist())
    whole = torch.zeros(size).npu()
    dist.all_to_all_single(whole, torch.arange(float(size)).npu() + 10 * rank)
    say(whole.tolist())
    out = torch.zeros(sum(from_ + rank for from_ in range(size))).npu()
    sent = torch.full((sum(rank + to for to in range(size)),), float(rank)).npu()
    dist.all_to_all_single(out, sent, [from_ + rank for from_ in range(size)], [rank + to for to in range(size)])
    say(out.tolist())
    lists = [torch.zeros(1).npu() for _ in range(size)]
    dist.all_to_all(lists, [npu(10 * rank + to) for to in range(size)])
    say([part.item() for part in lists])
    parts = [torch.zeros(from_ + 1).npu() for from_ in range(size)]
    dist.all_gather(parts, torch.full((rank + 1,), float(rank)).npu())
    say([part.tolist() for part in parts])
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    say(objects)
    one = [{"from": rank}]
    dist.broadcast_object_list(one, 3)
    say(one)
    dist.barrier()
"""


def test_collectives_give_what_their_definition_says(ranks: Ranks) -> None:
    said = ranks(4, _COLLECTIVES).said
    for rank, rows in enumerate(said):
        expected = [
            [10.0, 8.0],
            24.0,
            4.0,
            1.0,
            2.5,
            [2.0, 7.0],
            10.0 if rank == 1 else None,
            [[float(other)] * 3 for other in range(4)],
            [value for other in range(4) for value in (other, other + 0.5)],
            [4.0 * (2 * rank) + 6, 4.0 * (2 * rank + 1) + 6],
            [6.0 * rank] * 2,
            [rank + 0.5] * 2,
            [rank + 10.0 * other for other in range(4)],
            [float(other) for other in range(4) for _ in range(other + rank)],
            [10.0 * other + rank for other in range(4)],
            [[float(other)] * (other + 1) for other in range(4)],
            [{"rank": other} for other in range(4)],
            [{"from": 3}],
        ]
        assert rows == expected
