"""Runs a function on several emulated cards at once: one process imports torch, its children are the ranks."""

from __future__ import annotations

import json
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

_PROLOGUE = """
import datetime, json, os, signal, sys, time, traceback
import torch, torch_npu
import torch.distributed as dist
torch.set_num_threads(1)

def start(rank, size, backend="hccl", **more):
    if backend == "hccl":
        torch.npu.set_device(rank)
    store = dist.FileStore(f"{FOLDER}/store-{backend}", size)
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, **more)

def say(value):
    with open(f"{FOLDER}/out-{os.environ['RANK']}", "a", encoding="utf-8") as out:
        print(json.dumps(value), file=out)
"""
_EPILOGUE = """
children = {}
for rank in range(SIZE):
    child = os.fork()
    if child == 0:
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(SIZE), LOCAL_RANK=str(rank))
        code = 1
        signal.alarm(int(os.environ.get("RANKS_LIMIT", "0")))
        try:
            main(rank, SIZE)
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
"""


class Outcome(NamedTuple):
    codes: list[int]
    said: list[list[Any]]  # by rank, in the order of the calls of `say`
    errors: list[str]
    stderr: str


Ranks = Callable[..., Outcome]


def run_ranks(
    run: Callable[..., subprocess.CompletedProcess[str]],
    folder: Path,
    size: int,
    source: str,
    check: bool,
    limit: float = 300,
    **variables: str,
) -> Outcome:
    program = f"FOLDER, SIZE = {str(folder)!r}, {size}\n{_PROLOGUE}\n{textwrap.dedent(source)}\n{_EPILOGUE}"
    done = run(program, limit=limit, **variables)
    codes = json.loads(done.stdout.splitlines()[-1])
    said = [_lines(folder / f"out-{rank}") for rank in range(size)]
    errors = [_text(folder / f"error-{rank}") for rank in range(size)]
    if check and any(codes):
        pytest.fail(f"ranks ended with {codes}\n{done.stderr[-6000:]}")
    return Outcome(codes, said, errors, done.stderr)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in _text(path).splitlines()]
