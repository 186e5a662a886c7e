"""Process groups of torch_npu's own ProcessGroupHCCL over the stand-in of HCCL: results, order, many groups."""

from __future__ import annotations

import json
from pathlib import Path

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
    for kind in (torch.int8, torch.int32, torch.int64):
        x = torch.tensor([rank + 1, -rank], dtype=kind).npu()
        dist.all_reduce(x, dist.ReduceOp.AVG)
        out = torch.zeros(1, dtype=kind).npu()
        dist.reduce_scatter_tensor(out, torch.arange(-size, 0, dtype=kind).npu() * rank, dist.ReduceOp.AVG)
        say([x.tolist(), out.item(), str(out.dtype)])
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
            # The quotients are cut off: -6 / 4 is -1.
            *([[2, -1], -(3 * (4 - rank) // 2), f"torch.{kind}"] for kind in ("int8", "int32", "int64")),
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


_PATTERNS = """
def main(rank, size):
    start(rank, size)
    left, right = (rank - 1) % size, (rank + 1) % size
    big = 1 << 20
    # Two ranks meet before their first message, so neighbours must not all begin with a send (on a device neither).
    # After that everybody sends first, more than any buffer holds; then everybody receives first.
    for order in ("send" if rank % 2 == 0 else "receive", "send", "receive"):
        sent, got = torch.full((big,), float(rank)).npu(), torch.zeros(big).npu()
        calls = [lambda: dist.isend(sent, right), lambda: dist.irecv(got, left)]
        works = [call() for call in (calls if order == "send" else reversed(calls))]
        for work in works:
            work.wait()
        say([got.min().item(), got.max().item()])
    got = [torch.zeros(3).npu(), torch.zeros(3).npu()]
    ops = [dist.P2POp(dist.isend, torch.full((3,), float(rank)).npu(), right),
           dist.P2POp(dist.isend, torch.full((3,), rank + 0.5).npu(), left),
           dist.P2POp(dist.irecv, got[0], left), dist.P2POp(dist.irecv, got[1], right)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    say([tensor[0].item() for tensor in got])
    # Two groups at once, called in another order by each half.
    even, odd = dist.new_group([0, 2]), dist.new_group([1, 3])
    everybody = dist.new_group(list(range(size)))
    mine = even if rank % 2 == 0 else odd
    for group in (mine, everybody):  # the ranks of a group meet at its first use
        dist.all_reduce(torch.ones(1).npu(), group=group)
    a, b = torch.ones(5).npu() * rank, torch.ones(5).npu()
    order = [(a, mine), (b, everybody)]
    works = [dist.all_reduce(x, group=group, async_op=True) for x, group in (order if rank < 2 else order[::-1])]
    for work in works:
        work.wait()
    say([a[0].item(), b[0].item()])
    with dist._coalescing_manager(device=torch.device(f"npu:{rank}")):
        for x in (a, b):
            dist.all_reduce(x)
    say([a[0].item(), b[0].item()])
    # Another stream: the collective comes after what that stream did, and before what it does next.
    side = torch.npu.Stream()
    with torch.npu.stream(side):
        x = torch.full((big,), 1.0).npu()
        dist.all_reduce(x)
        y = x + 1
    torch.npu.current_stream().wait_stream(side)
    say(y.sum().item() / big)
    half = torch.full((4,), 2048.0 if rank == 0 else 1.0, dtype=torch.float16).npu()
    dist.all_reduce(half)
    say(half[0].item())
"""


def test_ranks_do_not_wait_for_each_other_in_a_circle(ranks: Ranks) -> None:
    for rank, rows in enumerate(ranks(4, _PATTERNS).said):
        left, right = (rank - 1) % 4, (rank + 1) % 4
        pair = 2.0 if rank % 2 == 0 else 4.0
        # 2048 + 3: float16 would stay at 2048 if it were rounded after each rank.
        assert rows == [
            [left, left],
            [left, left],
            [left, left],
            [left, right + 0.5],
            [pair, 4.0],
            [12.0, 16.0],
            5.0,
            2052.0,
        ]


def test_a_rank_table_brings_the_ranks_together(ranks: Ranks, tmp_path: Path) -> None:
    devices = [{"device_id": str(n), "device_ip": f"192.168.1.{n}", "rank_id": str(n)} for n in range(2)]
    table = {"version": "1.0", "server_count": "1", "status": "completed"}
    path = tmp_path / "rank_table.json"
    path.write_text(json.dumps({**table, "server_list": [{"server_id": "node_0", "device": devices}]}))
    source = """
    def main(rank, size):
        start(rank, size)
        x = torch.ones(2).npu() * (rank + 1)
        dist.all_reduce(x)
        group = dist.new_group([1, 0])
        dist.all_reduce(x, group=group)
        say(x.tolist())
    """
    variables = {"RANK_TABLE_FILE": str(path), "HCCL_CONNECT_TIMEOUT": "20"}
    assert ranks(2, source, **variables).said == [[[6.0, 6.0]]] * 2
