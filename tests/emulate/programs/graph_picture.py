"""`debug_dump` writes what was captured, and torch_npu's own tool can bring its streams into line."""

import json
import os
import warnings

import torch
import torch_npu  # noqa: F401

os.chdir(os.environ["FOLDER"])
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).npu()
x = torch.randn(3, 4).npu()
side, done = torch.npu.Stream(), torch.npu.Event()
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    y = model(x)
    main = torch.npu.current_stream()
    side.wait_stream(main)
    with torch.npu.stream(side):
        z = y.exp()
        done.record(side)
    main.wait_event(done)
    total = y.sum() + z.sum()
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    graph.debug_dump("graph.json")
assert any("debug_dump" in str(item.message) for item in said)

with open("graph.json") as file:
    events = json.load(file)
streams = {}
for event in events:
    streams.setdefault(event["tid"], []).append(event["name"])
    assert event["args"]["Stream Id"] == int(event["tid"].removeprefix("stream")) and event["ph"] == "X"
main, other = sorted(streams.values(), key=len, reverse=True)
kernels = [name for name in main if name.startswith("aten::")]
assert kernels.count("aten::addmm") + kernels.count("aten::linear") == 2 and "aten::relu" in kernels, main
assert [name for name in other if name.startswith("aten::")] == ["aten::exp"], other
first, last = other[0], other[-1]
assert first.startswith("EVENT_WAIT_") and first.replace("WAIT", "RECORD") in main
assert last.startswith("EVENT_RECORD_") and last.replace("RECORD", "WAIT") in main
with open("graph.aligned.json") as file:
    aligned = json.load(file)
assert sum(event["ph"] == "s" for event in aligned) == 2  # an arrow for each pair
graph.replay()
torch.npu.synchronize()
assert torch.isfinite(total.cpu())
