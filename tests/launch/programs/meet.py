"""The ranks meet in the store of `env://`, as every process group does first, and say the sum of their numbers.

The group itself connects nothing: gloo's connections fail on some machines, and they are not what is tried here. With
`--fail` rank 1 ends the first attempt.
"""

import os
import sys
import time

import torch.distributed as dist
import torch.testing._internal.distributed.fake_pg  # noqa: F401 - the backend `fake`
from torch.distributed.rendezvous import rendezvous

store, rank, world = next(iter(rendezvous("env://")))
dist.init_process_group("fake", store=store, rank=rank, world_size=world)


def wait(name, count):
    while store.add(name, 0) < count:
        time.sleep(0.02)


def meet(name):
    """Rank 0 holds the store: it leaves last."""
    store.add(name, 1)
    wait(name, world)
    if rank > 0:
        store.add(f"{name} left", 1)
    else:
        wait(f"{name} left", world - 1)


attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
store.add(f"{attempt} total", rank + 1)
meet(f"{attempt} added")
print(f"rank {rank} of {world}: sum {store.add(f'{attempt} total', 0)}, 123.5 samples/s")
if "--fail" in sys.argv and attempt == "0" and rank == 1:
    sys.exit(3)
if "--fail" in sys.argv and attempt == "0":
    sys.exit("the others are gone")  # as a collective that lost its peers
meet(f"{attempt} ended")
