"""Starts `main(rank, size)` of the source in RANKS_SOURCE on several emulated cards; started by ranks.py."""

import datetime  # noqa: F401
import json
import os
import signal
import sys
import time  # noqa: F401
import traceback

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401

FOLDER, SIZE = os.environ["RANKS_FOLDER"], int(os.environ["RANKS_SIZE"])
torch.set_num_threads(1)


def start(rank, size, backend="hccl", **more):
    if backend == "hccl":
        torch.npu.set_device(rank)
    store = dist.FileStore(f"{FOLDER}/store-{backend}", size)
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, **more)


def say(value):
    with open(f"{FOLDER}/out-{os.environ['RANK']}", "a", encoding="utf-8") as out:
        print(json.dumps(value), file=out)


exec(compile(os.environ["RANKS_SOURCE"], "ranks", "exec"), globals())
children = {}
for rank in range(SIZE):
    child = os.fork()
    if child == 0:
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(SIZE), LOCAL_RANK=str(rank))
        code = 1
        signal.alarm(int(os.environ.get("RANKS_LIMIT", "0")))
        try:
            globals()["main"](rank, SIZE)
            code = 0
            if dist.is_initialized():
                dist.destroy_process_group()
        except BaseException:
            text = traceback.format_exc()
            with open(f"{FOLDER}/error-{rank}", "w", encoding="utf-8") as out:
                out.write(text)
            print(text, file=sys.stderr, flush=True)
        sys.exit(code)
    children[child] = rank
codes = {}
while children:
    child, status = os.wait()
    rank = children.pop(child, None)
    if rank is not None:
        codes[rank] = os.waitstatus_to_exitcode(status)
if any(codes.values()):
    torch.npu.set_device(0)  # the next start reclaims what killed ranks held, and leaves nothing behind itself
print(json.dumps([codes[rank] for rank in range(SIZE)]))
