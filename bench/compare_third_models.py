"""Eight more small models, none from a library: a scan, a residual net with group norms, and six others."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

Tensor = torch.Tensor


class Scan(nn.Module):
    """A block of a selective state space: convolution, step sizes from the data, a recurrence, a gate."""

    softplus, skip, carried, causal = True, True, True, True

    def __init__(self, width: int, states: int = 4) -> None:
        super().__init__()
        self.norm, self.into, self.out = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.conv = nn.Conv1d(width, width, 3, groups=width, padding=2)
        self.rate, self.read = nn.Linear(width, width), nn.Linear(width, 2 * states)
        self.decay = nn.Parameter(torch.log(torch.arange(1.0, states + 1).repeat(width, 1)))
        self.direct = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        u, gate = self.into(self.norm(x)).chunk(2, -1)
        long = self.conv(u.transpose(1, 2))
        u = F.silu(long[..., : x.shape[1]] if self.causal else long[..., 1 : x.shape[1] + 1]).transpose(1, 2)
        step = self.rate(u)
        step = F.softplus(step) if self.softplus else step
        b, c = self.read(u).chunk(2, -1)
        state, found = u.new_zeros(x.shape[0], x.shape[2], self.decay.shape[1]), []
        for at in range(x.shape[1]):
            kept = torch.exp(-step[:, at, :, None] * self.decay.exp()) * state if self.carried else 0 * state
            state = kept + (step[:, at] * u[:, at])[..., None] * b[:, at, None]
            found.append((state * c[:, at, None]).sum(-1))
        y = torch.stack(found, 1)
        y = y + self.direct * u if self.skip else y
        return x + self.out(y * F.silu(gate))


class Mamba(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tok, self.blocks = nn.Embedding(40, 16), nn.ModuleList(Scan(16) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 40, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tok(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Bottleneck(nn.Module):
    def __init__(self, width: int, stride: int) -> None:
        super().__init__()
        self.one, self.two = nn.Conv2d(width, width, 1, 1), nn.Conv2d(width, width, 3, stride, 1)
        self.n1, self.n2, self.short = nn.GroupNorm(4, width), nn.GroupNorm(4, width), nn.AvgPool2d(stride)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.n1(self.one(x)))
        return F.relu(self.short(x) + self.n2(self.two(y)))


class GroupResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.pool = nn.Conv2d(3, 16, 3, padding=1), nn.AvgPool2d(3, 2, 1)
        self.stages = nn.ModuleList([Bottleneck(16, 1), Bottleneck(16, 2), Bottleneck(16, 1)])
        self.head = nn.Linear(16, 7)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(F.relu(self.stem(x)))
        for stage in self.stages:
            x = stage(x)
        return self.head(x.mean((2, 3)))


class Clip(nn.Module):
    normalised, exponent, last = True, True, False

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.tok = nn.Conv2d(3, 16, 4, 4), nn.Embedding(40, 16)
        self.image = nn.TransformerEncoderLayer(16, 2, 32, 0.0, "gelu", batch_first=True, norm_first=True)
        self.text = nn.TransformerEncoderLayer(16, 2, 32, 0.0, "gelu", batch_first=True, norm_first=True)
        self.to_image, self.to_text = nn.Linear(16, 12, bias=False), nn.Linear(16, 12, bias=False)
        self.heat = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, image: Tensor, ids: Tensor) -> Tensor:
        a = self.to_image(self.image(self.patch(image).flatten(2).transpose(1, 2)).mean(1))
        states = self.text(self.tok(ids))
        ends = ids.argmax(-1) if not self.last else torch.full((len(ids),), ids.shape[1] - 1)
        b = self.to_text(states[torch.arange(len(ids)), ends])
        a = F.normalize(a, dim=-1)
        b = F.normalize(b, dim=-1) if self.normalised else b
        return (self.heat.exp() if self.exponent else self.heat) * a @ b.t()


class Tags(nn.Module):
    turned_back = True

    def __init__(self) -> None:
        super().__init__()
        self.tok, self.head = nn.Embedding(40, 12, padding_idx=0), nn.Linear(24, 5)
        self.ahead, self.back = nn.LSTM(12, 12, batch_first=True), nn.LSTM(12, 12, batch_first=True)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tok(ids)
        back = self.back(x.flip(1))[0]
        return self.head(torch.cat([self.ahead(x)[0], back.flip(1) if self.turned_back else back], -1))


class Denoiser(nn.Module):
    """One training step of a diffusion model: noise is mixed in, and guessed."""

    root, shift, cosine_first = True, 0, False

    def __init__(self) -> None:
        super().__init__()
        self.into, self.mid, self.out = (nn.Conv2d(*size, 3, padding=1) for size in ((3, 16), (16, 16), (16, 3)))
        self.n1, self.n2 = nn.GroupNorm(4, 16), nn.GroupNorm(4, 16)
        self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16))
        self.register_buffer("kept", torch.cumprod(1 - torch.linspace(1e-4, 0.02, 100), 0))

    def embed(self, t: Tensor) -> Tensor:
        angle = t[:, None] * torch.exp(-math.log(10000.0) * torch.arange(8, device=t.device) / 8)
        parts = (angle.cos(), angle.sin()) if self.cosine_first else (angle.sin(), angle.cos())
        return self.time(torch.cat(parts, -1))

    def forward(self, image: Tensor, noise: Tensor, t: Tensor) -> Tensor:
        share = self.get_buffer("kept")[t + self.shift].view(-1, 1, 1, 1)
        mixed = (share.sqrt() if self.root else share) * image + (1 - share).sqrt() * noise
        x = F.silu(self.n1(self.into(mixed)))
        x = x + F.silu(self.n2(self.mid(x))) + self.embed(t)[:, :, None, None]
        return self.out(x)


class Masked(nn.Module):
    """An encoder that guesses hidden words; attention by hand, with a mask of padding that is added."""

    sign, first, axis, divided = 1.0, 0, -1, True

    def __init__(self, layers: int = 3) -> None:
        super().__init__()
        self.tok, self.pos, self.kind = nn.Embedding(40, 16), nn.Embedding(32, 16), nn.Embedding(2, 16)
        self.qkv, self.o = (nn.ModuleList(nn.Linear(16, n) for _ in range(layers)) for n in (48, 16))
        self.n1, self.n2 = (nn.ModuleList(nn.LayerNorm(16) for _ in range(layers)) for _ in range(2))
        self.up, self.down = nn.ModuleList(nn.Linear(16, 48) for _ in range(layers)), nn.ModuleList(
            nn.Linear(48, 16) for _ in range(layers))  # fmt: skip
        self.act = nn.ModuleList(nn.GELU() for _ in range(layers))
        self.drop, self.head = nn.Dropout(0.0), nn.Linear(16, 40)

    def attend(self, x: Tensor, at: int, mask: Tensor) -> Tensor:
        q, k, v = (part.unflatten(-1, (4, 4)).transpose(1, 2) for part in self.qkv[at](x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / (2.0 if self.divided else 1.0) + mask
        return self.o[at]((scores.softmax(self.axis) @ v).transpose(1, 2).flatten(2))

    def forward(self, ids: Tensor) -> Tensor:
        mask = ((ids == 0) if self.sign > 0 else (ids != 0))[:, None, None].float() * -1e4
        place = torch.arange(ids.shape[1], device=ids.device) + self.first
        x = self.drop(self.tok(ids) + self.pos(place) + self.kind(torch.zeros_like(ids)))
        for at in range(len(self.qkv)):
            x = self.n1[at](x + self.attend(x, at, mask))
            x = self.n2[at](x + self.down[at](self.act[at](self.up[at](x))))
        return self.head(x)


class Vae(nn.Module):
    halved = True

    def __init__(self) -> None:
        super().__init__()
        self.enc, self.mu, self.spread = nn.Linear(20, 32), nn.Linear(32, 6), nn.Linear(32, 6)
        self.dec, self.out = nn.Linear(6, 32), nn.Linear(32, 20)

    def forward(self, x: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = F.relu(self.enc(x))
        mu, spread = self.mu(hidden), self.spread(hidden)
        z = mu + torch.exp(0.5 * spread if self.halved else spread) * noise
        return self.out(F.relu(self.dec(z))), mu, spread


class RootNorm(nn.Module):
    eps, narrow = 1e-6, False

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        y = x.bfloat16() if self.narrow else x
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * y.to(x.dtype)


class Grouped(nn.Module):
    """Attention whose keys and values serve two queries each, with rotary positions."""

    base, interleaved, tiled, window, scale, offset = 10000.0, False, False, 0, 0.5, 0

    def __init__(self, width: int) -> None:
        super().__init__()
        sizes = width, width // 2, width // 2, width
        self.q, self.k, self.v, self.o = (nn.Linear(width, size, bias=False) for size in sizes)

    def rotate(self, x: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        place = torch.arange(x.shape[-2], device=x.device) + self.offset
        angle = place[:, None] * self.base ** (-torch.arange(half, device=x.device) / half)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        if self.interleaved:
            a, b = x[..., 0::2], x[..., 1::2]
            return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (one(x).unflatten(-1, (-1, 4)).transpose(1, 2) for one in (self.q, self.k, self.v))
        k, v = ((one.repeat(1, 2, 1, 1) if self.tiled else one.repeat_interleave(2, 1)) for one in (self.rotate(k), v))
        scores = self.rotate(q) @ k.transpose(-1, -2) * self.scale
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        if self.window:
            hidden = hidden | torch.ones_like(hidden).tril(-self.window)
        weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
        return self.o((weights @ v).transpose(1, 2).flatten(2))


class Gated(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate, self.up, self.down = (nn.Linear(*n, bias=False) for n in ((width, 32), (width, 32), (32, width)))

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.n1, self.attn, self.n2, self.mlp = RootNorm(width), Grouped(width), RootNorm(width), Gated(width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.n1(x))
        return x + self.mlp(self.n2(x))


class GroupedLlama(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tok, self.layers = nn.Embedding(40, 16), nn.ModuleList(Layer(16) for _ in range(3))
        self.norm, self.head = RootNorm(16), nn.Linear(16, 40, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tok(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def vae_loss(x: Tensor, out: Tensor, mu: Tensor, spread: Tensor, weight: float = 1.0, **options: Any) -> Tensor:
    """Reconstruction and the distance from the normal distribution."""
    apart = -0.5 * (1 + spread - mu.pow(2) - spread.exp()).sum(-1)
    return F.mse_loss(out, x, **options) + weight * apart.mean()
