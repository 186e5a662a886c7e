import torch

layer = torch.nn.Linear(4, 4).npu()
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("npu", init_scale=4.0)
with torch.autocast("npu", dtype=torch.float16):
    out = layer(torch.ones(2, 4).npu())
print(out.dtype)
scaler.scale(out.float().sum()).backward()
scaler.step(optimizer)
scaler.update()
before = layer.weight.detach().cpu()
scaler.scale(layer(torch.full((2, 4), float("inf")).npu()).sum()).backward()
scaler.step(optimizer)
scaler.update()
print(torch.equal(before, layer.weight.detach().cpu()), scaler.get_scale())
