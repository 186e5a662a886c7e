import os
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
print("attempt", os.environ["TORCHELASTIC_RESTART_COUNT"], "sum", int(total.item()))
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and os.environ["RANK"] == "1":
    sys.exit(3)
dist.barrier()
dist.destroy_process_group()
