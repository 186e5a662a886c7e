import os

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401

torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("hccl")
total = torch.ones(4, device="npu") * (dist.get_rank() + 1)
dist.all_reduce(total)
print("sum", total.cpu().tolist(), os.environ.get("RANK_TABLE_FILE"))
