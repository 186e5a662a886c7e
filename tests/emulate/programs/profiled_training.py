import torch

torch.npu.set_compile_mode(jit_compile=True)
model = torch.nn.Linear(64, 64).npu()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _step in range(4):
    x = torch.randn(16, 64).npu()
    loss = (torch.nn.functional.silu(model(x)) * x).sum()
    loss.backward()
    optimizer.step()
    print(loss)
    loss.cpu()
