"""A small training, as users write one; `--profile FOLDER` writes a profile with torch_npu's own profiler."""

import contextlib
import sys
from typing import Any

import torch
import torch_npu


def profiler() -> Any:
    if "--profile" not in sys.argv:
        return contextlib.nullcontext()
    kinds = torch_npu.profiler
    folder = sys.argv[sys.argv.index("--profile") + 1]
    return kinds.profile(
        activities=[kinds.ProfilerActivity.CPU, kinds.ProfilerActivity.NPU],
        schedule=kinds.schedule(wait=1, warmup=1, active=2),
        on_trace_ready=kinds.tensorboard_trace_handler(folder),
    )


torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 4)).npu()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
inputs, labels = torch.randn(8, 16).npu(), torch.randint(0, 4, (8,)).npu()
with profiler() as profile:
    for _ in range(5):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        loss.item()
        if profile is not None:
            profile.step()
sys.stdout.write(f"loss {loss.item():.5f}\n")
