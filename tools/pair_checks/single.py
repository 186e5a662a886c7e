"""The checks of one process for tools/versions.py: a JSON line per check, on torch and torch_npu alone.

Runs under `jumar run` in the environment of a pair, on any Python from 3.9 on.
"""

import json
import sys
import traceback

import torch
import torch_npu
from torch import nn
from torch.nn import functional

STEPS = 4
CLOSE = 2e-3


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, stride=2),
            nn.GELU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Dropout(0.0),
            nn.Linear(16, 10),
        )

    def forward(self, images):
        return self.layers(images)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.qkv(self.before(x)).chunk(3, -1))
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.between(x))


class Gpt(nn.Module):
    def __init__(self, words=50, width=32, length=16):
        super().__init__()
        self.word, self.place = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(Block(width, 4), Block(width, 4))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        logits = self.head(self.norm(self.blocks(self.word(tokens) + self.place(places))))
        return logits.flatten(0, 1)


def losses(kind, inputs, targets, make, device):
    torch.manual_seed(3)
    model = kind().to(device)
    inputs, targets = inputs.to(device), targets.to(device)
    optimizer = make(model.parameters())
    found = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(inputs), targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        found.append(loss.item())
    return found


def agree(kind, inputs, targets, make):
    cpu, npu = (losses(kind, inputs, targets, make, device) for device in ("cpu", "npu:0"))
    assert torch.allclose(torch.tensor(npu), torch.tensor(cpu), rtol=CLOSE, atol=0), f"cpu {cpu}, npu {npu}"
    assert cpu[-1] < cpu[0], cpu
    return f"loss {npu[0]:.4f} to {npu[-1]:.4f}"


def guide():
    """What the installation guides ask for: cards, and a sum on one of them."""
    assert torch.npu.is_available() and torch.npu.device_count() == 8
    a = torch.randn(3, 4).npu()
    assert a.device.type == "npu" and torch.equal((a + a).cpu(), a.cpu() + a.cpu())
    return torch.npu.get_device_name(0)


def cnn():
    torch.manual_seed(0)
    images, labels = torch.randn(8, 3, 16, 16), torch.randint(0, 10, (8,))
    return agree(Cnn, images, labels, lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9))


def gpt():
    torch.manual_seed(0)
    tokens = torch.randint(0, 50, (4, 17))
    return agree(
        Gpt, tokens[:, :-1], tokens[:, 1:].flatten(), lambda parameters: torch.optim.AdamW(parameters, lr=3e-3)
    )


def half():
    """Mixed precision with loss scaling, as the guides' training scripts have it."""
    scaler = torch_npu.npu.amp.GradScaler()
    model = Cnn().npu()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(0)
    images, labels = torch.randn(8, 3, 16, 16).npu(), torch.randint(0, 10, (8,)).npu()
    found = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        with torch_npu.npu.amp.autocast():
            out = model(images)
            loss = functional.cross_entropy(out.float(), labels)
        assert out.dtype == torch.float16
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        found.append(loss.item())
    assert found[-1] < found[0], found
    return f"loss {found[0]:.4f} to {found[-1]:.4f}"


def fused():
    """NPU-only operators, with a gradient: the ones that models take first."""
    x = torch.randn(4, 8, device="npu:0", requires_grad=True)
    weight = torch.ones(8, device="npu:0", requires_grad=True)
    out = torch_npu.npu_rms_norm(x, weight)[0]
    out.sum().backward()
    wanted = x.detach() * torch.rsqrt(x.detach().pow(2).mean(-1, keepdim=True) + 1e-6)
    assert torch.allclose(out.detach(), wanted, atol=1e-5) and x.grad is not None and weight.grad is not None
    return "npu_rms_norm"


def main():
    for check in (guide, cnn, gpt, half, fused):
        try:
            line = {"check": check.__name__, "passed": True, "said": check()}
        except Exception as error:
            traceback.print_exc()
            line = {"check": check.__name__, "passed": False, "said": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(line), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
