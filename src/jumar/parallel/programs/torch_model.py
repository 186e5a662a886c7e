"""A transformer or a plain stack as PyTorch modules, from the words of `jumar parallel --json`.

Written by Jumar (Apache-2.0). The words are in `words.json` beside this file.
"""

import json
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

GIVEN = json.loads(Path(__file__).with_name("words.json").read_text())


def norm(width):
    return nn.RMSNorm(width, eps=1e-5) if GIVEN["norm"] == "rms" else nn.LayerNorm(width)


class Attention(nn.Module):
    """Attention with grouped keys; the number of heads on this card follows from the width of what comes in."""

    def __init__(self):
        super().__init__()
        self.width = GIVEN["head_dim"]
        queries, groups = GIVEN["heads"] * self.width, GIVEN["kv_heads"] * self.width
        self.q_proj = nn.Linear(GIVEN["hidden"], queries, bias=GIVEN["bias"])
        self.k_proj = nn.Linear(GIVEN["hidden"], groups, bias=GIVEN["bias"])
        self.v_proj = nn.Linear(GIVEN["hidden"], groups, bias=GIVEN["bias"])
        self.o_proj = nn.Linear(queries, GIVEN["hidden"], bias=GIVEN["bias"])

    def rotated(self, x):
        length = x.shape[-2]
        angles = torch.arange(length, device=x.device)[:, None] / 10000 ** torch.linspace(
            0, 1, self.width // 2, device=x.device
        )
        cos, sin = (torch.cat([f(angles), f(angles)], -1).to(x.dtype) for f in (torch.cos, torch.sin))
        low, high = x.chunk(2, dim=-1)
        return x * cos + torch.cat((-high, low), dim=-1) * sin

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (
            made.view(batch, length, -1, self.width).transpose(1, 2)
            for made in (self.q_proj(x), self.k_proj(x), self.v_proj(x))
        )
        if GIVEN["position"] == "rope":
            q, k = self.rotated(q), self.rotated(k)
        if k.shape[1] != q.shape[1]:
            k, v = (y.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for y in (k, v))
        if GIVEN["attention"] == "flash":
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=not GIVEN["picture"])
        else:
            scores = (q @ k.transpose(-1, -2) * self.width**-0.5).float()
            if not GIVEN["picture"]:
                scores = scores + torch.full((length, length), -10000.0, device=x.device).triu(1)
            y = scores.softmax(-1).to(v.dtype) @ v
        return self.o_proj(y.transpose(1, 2).reshape(batch, length, -1))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        if GIVEN["activation"] == "swiglu":
            self.gate_proj = nn.Linear(GIVEN["hidden"], GIVEN["inner"], bias=GIVEN["bias"])
        self.up_proj = nn.Linear(GIVEN["hidden"], GIVEN["inner"], bias=GIVEN["bias"])
        self.down_proj = nn.Linear(GIVEN["inner"], GIVEN["hidden"], bias=GIVEN["bias"])

    def forward(self, x):
        if GIVEN["activation"] == "swiglu":
            return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))
        act = functional.gelu if GIVEN["activation"] == "gelu" else functional.relu
        return self.down_proj(act(self.up_proj(x)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = norm(GIVEN["hidden"])
        self.self_attn = Attention()
        self.norm2 = norm(GIVEN["hidden"])
        self.mlp = FeedForward()

    def forward(self, x):
        x = x + self.self_attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class PlainBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = FeedForward()

    def forward(self, x):
        return self.mlp(x)


class Stack(nn.Module):
    """Blocks only."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(PlainBlock() for _ in range(GIVEN["layers"]))

    def forward(self, x):
        for block in self.layers:
            x = block(x)
        return x


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(GIVEN["vocab"], GIVEN["hidden"])
        if GIVEN["position"] == "learned":
            self.embed_positions = nn.Embedding(GIVEN["seq"], GIVEN["hidden"])
        self.layers = nn.ModuleList(Block() for _ in range(GIVEN["layers"]))
        self.norm = norm(GIVEN["hidden"])
        self.lm_head = nn.Linear(GIVEN["hidden"], GIVEN["vocab"], bias=False)

    def forward(self, ids):
        x = self.embed_tokens(ids)
        if GIVEN["position"] == "learned":
            x = x + self.embed_positions(torch.arange(ids.shape[1], device=ids.device))
        for block in self.layers:
            x = block(x)
        return self.lm_head(self.norm(x))


class VisionTransformer(nn.Module):
    """Patches of a picture as tokens; classes from the first token, or from the mean of all."""

    def __init__(self):
        super().__init__()
        picture, wide = GIVEN["picture"], GIVEN["hidden"]
        self.patches = nn.Conv2d(picture["channels"], wide, picture["patch"], stride=picture["patch"])
        self.token = nn.Parameter(torch.zeros(1, 1, wide)) if picture["class_token"] else None
        self.places = nn.Parameter(torch.zeros(GIVEN["seq"], wide))
        self.layers = nn.ModuleList(Block() for _ in range(GIVEN["layers"]))
        self.norm = norm(wide)
        self.head = nn.Linear(wide, GIVEN["vocab"], bias=GIVEN["bias"])

    def forward(self, pictures):
        x = self.patches(pictures).flatten(2).transpose(1, 2)
        if self.token is not None:
            x = torch.cat([self.token.to(x.dtype).expand(len(x), -1, -1), x], 1)
        x = x + self.places
        for block in self.layers:
            x = block(x)
        x = self.norm(x)
        return self.head(x[:, 0] if self.token is not None else x.mean(1))


def make_model():
    return {"mlp": Stack, "vit": VisionTransformer}.get(GIVEN["family"], Transformer)()
