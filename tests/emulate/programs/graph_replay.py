import torch
import torch_npu  # noqa: F401

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).npu()
x, count = torch.randn(3, 4).npu(), torch.zeros(1).npu()
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    assert torch.npu.is_current_stream_capturing()
    y = model(x)
    count.add_(1)
    part = y.chunk(2, 1)[1].half().sum()
assert not torch.npu.is_current_stream_capturing() and count.item() == 0
for round in range(3):
    x.copy_(torch.randn(3, 4))
    graph.replay()
    assert torch.equal(y, model(x)) and count.item() == round + 1
    assert torch.equal(part, model(x)[:, 1:].half().sum())

# A whole training step.
twin = torch.nn.Linear(4, 1).npu()
start = {k: v.clone() for k, v in twin.state_dict().items()}
optimizer = torch.optim.SGD(twin.parameters(), lr=0.1)


def step():
    optimizer.zero_grad(set_to_none=False)
    twin(x).square().sum().backward()
    optimizer.step()


side = torch.npu.Stream()
with torch.npu.stream(side):
    step()
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    step()
twin.load_state_dict(start)
for _ in range(3):
    graph.replay()
replayed = twin.weight.detach().clone()
twin.load_state_dict(start)
for _ in range(3):
    step()
assert torch.equal(replayed, twin.weight)

# Random numbers go on from replay to replay, and are those of the same calls without a graph.
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    drawn = torch.rand(5, device="npu")
torch.npu.manual_seed(7)
graph.replay()
first = drawn.clone()
graph.replay()
second = drawn.clone()
torch.npu.manual_seed(7)
assert torch.equal(first, torch.rand(5, device="npu")) and torch.equal(second, torch.rand(5, device="npu"))
assert not torch.equal(first, second)

# A second stream takes part through events; functions of the host run with each replay.
graph, seen = torch.npu.NPUGraph(), []
with torch.npu.graph(graph):
    main = torch.npu.current_stream()
    side.wait_stream(main)
    with torch.npu.stream(side):
        z = x * 2
    main.wait_stream(side)
    z = z + 1
graph.replay()
assert torch.equal(z, x * 2 + 1)

# What would wait for the device is an error, and the card works on afterwards.
for call in (lambda: (x + 1).sum().item(), lambda: x.cpu(), lambda: torch.npu.current_stream().synchronize()):
    try:
        with torch.npu.graph(torch.npu.NPUGraph()):
            call()
    except RuntimeError as error:
        print("107027" in str(error))
assert (x + 1).sum().item() == (x.cpu() + 1).sum().item()
call = torch.npu.make_graphed_callables(torch.nn.Linear(4, 2).npu(), (x.clone().requires_grad_(),))
call(x.clone().requires_grad_()).sum().backward()
