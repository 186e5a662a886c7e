import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator()
torch.manual_seed(0)
x = torch.randn(64, 8)
y = (x.sum(1) > 0).long()
model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
loader = DataLoader(TensorDataset(x, y), batch_size=16 // accelerator.num_processes)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for _epoch in range(3):
    for a, b in loader:
        loss = torch.nn.functional.cross_entropy(model(a), b)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
loss = accelerator.reduce(loss.detach(), "mean").item()
weights = accelerator.gather(accelerator.unwrap_model(model)[0].weight.sum().reshape(1)).tolist()
accelerator.print("RESULT", accelerator.distributed_type.value, accelerator.device.type, loss, *weights)
accelerator.end_training()
