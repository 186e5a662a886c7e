import sys; import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

batch_size = int(sys.argv[sys.argv.index("--batch-size") + 1])
path = sys.argv[sys.argv.index("--save-model") + 1] if "--save-model" in sys.argv else ""
torch.manual_seed(0)
x = torch.randn(64, 6, generator=torch.Generator().manual_seed(1))
train_set = TensorDataset(x, (x[:, 0] > 0).long())
loader = DataLoader(dataset=train_set, batch_size=batch_size, shuffle=True)

net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 2))
if torch.cuda.is_available():
    net = net.cuda(0)
if torch.cuda.device_count() > 1:
    net = nn.DataParallel(net)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for p in net.parameters():
    p.requires_grad = True

history = []
for epoch in range(2):
    epoch_loss = 0.0
    batches = 0
    for bx, by in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(bx), by)
        loss.backward()
        opt.step()
        epoch_loss += loss.item()
        batches += 1
    history.append(epoch_loss / batches)
    print("RESULT epoch", epoch, "loss %.6f" % (epoch_loss / batches))

print("RESULT layers", len(net), "first %.6f" % net[0].weight.sum().item())
if path:
    with open(path, "wb") as f:
        torch.save(net, f)
