import json
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401

torch.set_num_threads(1)


def rank_of(rank, folder):
    os.environ["RANK"] = str(rank)
    torch.npu.set_device(rank)
    store = dist.FileStore(f"{folder}/store", 2)
    dist.init_process_group("hccl", store=store, rank=rank, world_size=2)
    x = torch.ones(100000).npu()
    while True:
        dist.all_reduce(x)
        torch.npu.synchronize()
        open(f"{folder}/ready-{rank}", "w").close()


def forked(work, *given):
    child = os.fork()
    if child == 0:
        try:
            work(*given)
            sys.stdout.flush()
        finally:
            os._exit(0)
    return child


def says_what_is_left():
    torch.npu.set_device(0)
    print(json.dumps([torch.npu.mem_get_info(card) for card in range(2)]))


os.waitpid(forked(lambda: torch.ones(1).npu()), 0)  # what the first start of all builds
files = len(os.listdir("/proc/self/fd"))
for turn in range(int(os.environ["ROUNDS"])):
    folder = f"{os.environ['FOLDER']}/{turn}"
    os.mkdir(folder)
    group = [forked(rank_of, rank, folder) for rank in range(2)]
    if turn % 2:
        until = time.monotonic() + 60
        while not all(os.path.exists(f"{folder}/ready-{rank}") for rank in range(2)):
            assert time.monotonic() < until, os.listdir(folder)
            time.sleep(0.01)
    else:
        time.sleep(0.013 * turn)
    for child in group if turn % 3 else reversed(group):
        os.kill(child, signal.SIGKILL)
    for child in group:
        os.waitpid(child, 0)
assert len(os.listdir("/proc/self/fd")) == files
os.waitpid(forked(says_what_is_left), 0)
torch.npu.set_device(0)
