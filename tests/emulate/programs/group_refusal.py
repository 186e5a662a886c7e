"""One rank asks for what is not emulated and stays alive; the others must not wait for it; run by ranks.py."""

import time

import torch
import torch.distributed as dist
import torch_npu


def main(rank, size):
    start(rank, size)  # noqa: F821
    group = dist.distributed_c10d._get_default_group()._get_backend(torch.device("npu")).get_hccl_comm_name(rank)
    x = torch.ones(2, 2).half().npu()
    began = time.monotonic()
    try:
        more = {"group_sizes": [1, 1, 32]} if rank == 0 else {}
        torch_npu.npu_mm_all_reduce_base(x, x, group, **more)
    except (RuntimeError, NotImplementedError) as error:
        say([type(error).__name__, "refused: npu_mm_all_reduce_base with" in str(error) or rank == 0])  # noqa: F821
    say(time.monotonic() - began < 60)  # noqa: F821
