"""Runs the converted scripts of a folder alone and as two processes, in one Python that has loaded torch once.

`python multicard_driver.py FOLDER BATCH NAME...` prints `NAME WORLD EXIT-CODE` for each process. Gloo itself fails now
and then (both sides wait for the other's connection; `terminate called` after the end), so a pair has some tries.
"""

from __future__ import annotations

import os
import runpy
import signal
import socket
import sys
import time
import traceback

import torch
import torch._dynamo
import torch.nn.parallel
import torch.utils.data.distributed  # the forks need not load them again

LIMIT = 15.0
TRIES = 6


def free_port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def script(folder: str, name: str, batch: int, world: int, rank: int) -> int:
    out = os.open(f"{folder}/{name}.{world}.{rank}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    if world > 1:
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world))
    os.chdir(f"{folder}/{name}.{world}")
    sys.path.insert(0, os.path.dirname(f"{folder}/{name}.py"))
    sys.argv = [name, "--batch-size", str(batch // world), "--save-model", f"{folder}/{name}.{world}/model.pt"]
    try:
        runpy.run_path(f"{folder}/{name}.py", run_name="__main__")
    except SystemExit as end:
        return int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def together(folder: str, name: str, batch: int, world: int) -> list[int]:
    """The exit codes of all processes; who has not ended in time, or when another failed, is killed."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=free_port())
    running = []
    for rank in range(world):
        pid = os.fork()
        if not pid:
            code = script(folder, name, batch, world, rank)
            sys.stdout.flush()
            os._exit(code)
        running.append(pid)
    codes: list[int] = []
    end = time.monotonic() + LIMIT
    while running and not any(codes) and time.monotonic() < end:
        for pid in list(running):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                running.remove(pid)
                codes.append(os.waitstatus_to_exitcode(status))
        time.sleep(0.02)
    for pid in running:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        codes.append(-signal.SIGKILL)
    return codes


def main(folder: str, batch: int, names: list[str]) -> None:
    torch.set_num_threads(1)
    sys.path.insert(0, folder)
    for name in names:
        for world in (1, 2):
            codes = together(folder, name, batch, world)
            for _ in range(TRIES - 1 if world > 1 else 0):
                if not any(codes):
                    break
                codes = together(folder, name, batch, world)
            for code in codes:
                print(name, world, code, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
