"""Small models for bench/compare.py and the tests, and the faults that are put into them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    scale: float | None = None
    causal = True

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (self.split(part) for part in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, scale=self.scale)
        return self.out(y.transpose(1, 2).reshape(x.shape))


class MLP(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc, self.proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.act: Callable[[torch.Tensor], torch.Tensor] = F.gelu

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.proj(self.act(self.fc(x)))


class Block(nn.Module):
    residual = True

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln1, self.attn, self.ln2, self.mlp = (
            nn.LayerNorm(width),
            Attention(width, heads),
            nn.LayerNorm(width),
            MLP(width),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x)) if self.residual else self.mlp(self.ln2(x))


class GPT(nn.Module):
    shift = 0

    def __init__(
        self, vocabulary: int = 97, width: int = 64, layers: int = 4, heads: int = 4, length: int = 128
    ) -> None:
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocabulary, width), nn.Embedding(length + 1, width)
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1], device=ids.device) + self.shift)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
        self.bn1, self.bn2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(x + self.bn2(self.conv2(y)))


class CNN(nn.Module):
    def __init__(self, width: int = 16, blocks: int = 3, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.Sequential(*(Residual(width) for _ in range(blocks)))
        self.pool, self.head = nn.AvgPool2d(2), nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.pool(self.blocks(self.stem(x))).mean((2, 3)))


class Tagger(nn.Module):
    """A bidirectional LSTM over embeddings, with attention written by hand over its states."""

    dim = -1

    def __init__(self, vocabulary: int = 97, width: int = 48, classes: int = 7) -> None:
        super().__init__()
        self.tok = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, batch_first=True, bidirectional=True)
        self.query, self.key = nn.Linear(2 * width, width), nn.Linear(2 * width, width)
        self.norm, self.head = nn.LayerNorm(2 * width), nn.Linear(2 * width, classes)
        self.register_buffer("weights", torch.linspace(0.5, 1.5, classes))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x, _ = self.lstm(self.tok(ids))
        scores = self.query(x) @ self.key(x).transpose(-1, -2) / math.sqrt(self.key.out_features)
        x = self.norm(x + torch.softmax(scores, self.dim) @ x)
        return self.head(x) * self.weights


class Encoder(nn.Module):
    """Post-norm encoder layers of torch itself, with a padding mask and a pooled output, as in BERT."""

    def __init__(self, vocabulary: int = 97, width: int = 64, layers: int = 2, classes: int = 5) -> None:
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocabulary, width), nn.Parameter(torch.randn(64, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.pool, self.head = nn.Linear(width, width), nn.Linear(width, classes)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.layers(self.tok(ids) + self.pos[: ids.shape[1]], src_key_padding_mask=ids == 0)
        return self.head(torch.tanh(self.pool(x[:, 0])))


class Task(NamedTuple):
    """A model with a batch and an optimizer, always the same for a seed."""

    model: nn.Module
    batch: tuple[torch.Tensor, torch.Tensor]
    optimizer: torch.optim.Optimizer
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def task(name: str, size: int = 1, seed: int = 0) -> Task:
    torch.manual_seed(seed)
    if name == "gpt":
        model: nn.Module = GPT(width=64 * size, layers=4)
        ids = torch.randint(1, 97, (4, 33) if size == 1 else (8, 129))
        batch = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
    elif name == "cnn":
        model = CNN(width=16 * size)
        batch = torch.randn(8, 3, 16 * size, 16 * size), torch.randint(0, 10, (8,))
    elif name == "tagger":
        model = Tagger(width=48 * size)
        batch = torch.randint(1, 97, (4, 24)), torch.randint(0, 7, (4, 24))
    else:
        model = Encoder(width=64 * size)
        ids = torch.randint(1, 97, (6, 24))
        ids[3:, 18:] = 0
        batch = ids, torch.randint(0, 5, (6,))
    make = {"gpt": torch.optim.AdamW, "cnn": torch.optim.SGD, "tagger": torch.optim.Adam, "encoder": torch.optim.AdamW}
    extra: dict[str, Any] = {"momentum": 0.9, "weight_decay": 1e-4} if name == "cnn" else {}
    return Task(model, batch, make[name](model.parameters(), lr=1e-3, **extra), cross_entropy)


def cross_entropy(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(outputs.flatten(0, -2), labels.flatten())


def train(work: Task, steps: int = 2) -> None:
    for _ in range(steps):
        work.optimizer.zero_grad()
        work.loss(work.model(work.batch[0]), work.batch[1]).backward()
        work.optimizer.step()


class Fault(NamedTuple):
    """A change of one thing, and what a right verdict must name."""

    name: str
    model: str
    put: Callable[[Task], Task | None]
    right: str
    """Matched against kind, operator, module, name and line of the verdict, and what it says runs on one side only."""


def found(fault: Fault, verdict: Any) -> bool:
    pair = verdict.pair
    shown = [verdict.kind, *verdict.between]
    if pair is not None:
        shown += [pair.a.op, pair.a.module, pair.a.name, pair.a.kind, *pair.arguments]
    return verdict.differs and re.search(fault.right, " ".join(shown)) is not None


def _act(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Task], None]:
    def put(work: Task) -> None:
        work.model.blocks[2].mlp.act = function  # type: ignore[index,union-attr]

    return put


def _hook(path: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Task], None]:
    """The output of a module, changed."""

    def put(work: Task) -> None:
        work.model.get_submodule(path).register_forward_hook(lambda _, __, out: change(out))

    return put


def _set(path: str, name: str, value: Any) -> Callable[[Task], None]:
    def put(work: Task) -> None:
        setattr(work.model.get_submodule(path), name, value)

    return put


def _weight(path: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Task], None]:
    def put(work: Task) -> None:
        with torch.no_grad():
            tensor = work.model.get_parameter(path)
            tensor.copy_(change(tensor.clone()))

    return put


def _no_bias(path: str) -> Callable[[Task], None]:
    def put(work: Task) -> None:
        work.model.get_submodule(path).bias = None

    return put


def _stale(work: Task) -> None:
    work.model.get_buffer("weights").mul_(0.9)


def _mean_to_sum(work: Task) -> Task:
    return work._replace(loss=lambda out, label: F.cross_entropy(out.flatten(0, -2), label.flatten(), reduction="sum"))


def _label_shift(work: Task) -> Task:
    return work._replace(batch=(work.batch[0], work.batch[1].roll(1, -1)))


def _group(**settings: Any) -> Callable[[Task], None]:
    def put(work: Task) -> None:
        for group in work.optimizer.param_groups:
            group.update(settings)

    return put


def _other_seed(work: Task) -> None:
    torch.manual_seed(1)
    for module in work.model.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()


def _padding(work: Task) -> None:
    conv = work.model.get_submodule("blocks.1.conv1")
    conv.padding_mode = "reflect"  # type: ignore[assignment]
    conv._reversed_padding_repeated_twice = [1, 1, 1, 1]  # type: ignore[assignment]


def _flush(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x.abs() < 2e-2, torch.zeros_like(x), x)


def _overflow(x: torch.Tensor) -> torch.Tensor:
    return (x * 1e6).half().float() / 1e6


def _scaled_gradient(work: Task) -> None:
    work.model.get_parameter("layers.layers.1.linear2.weight").register_hook(lambda gradient: gradient * 1.2)


LISTED = [
    Fault("exact GELU to tanh", "gpt", _act(lambda x: F.gelu(x, approximate="tanh")), r"gelu.*blocks\.2\.mlp"),
    Fault("a bf16 rounding", "gpt", _hook("blocks.2.mlp.fc", lambda x: x.bfloat16().float()), r"blocks\.2\.mlp"),
    Fault("a weight times 1.05", "gpt", _weight("blocks.2.mlp.fc.weight", lambda x: x * 1.05), r"weights.*2\.mlp\.fc"),
    Fault("LayerNorm eps", "gpt", _set("blocks.2.ln1", "eps", 1e-2), r"layer_norm.*blocks\.2\.ln1"),
    Fault("attention scale", "gpt", _set("blocks.1.attn", "scale", 0.3), r"scaled_dot_product.*blocks\.1\.attn"),
    Fault("a dropped bias", "gpt", _no_bias("blocks.1.mlp.proj"), r"blocks\.1\.mlp\.proj"),
    Fault("a swapped axis", "tagger", _set("", "dim", -2), r"softmax"),
    Fault("flushed small values", "cnn", _hook("blocks.1.bn1", _flush), r"where|blocks\.1"),
    Fault("a wrong reduction", "gpt", _mean_to_sum, r"nll_loss|reduction"),
    Fault("a stale buffer", "tagger", _stale, r"weights.*buffer|buffer.*weights"),
]  # fmt: skip
"""The ten of the plan."""

OTHERS = [
    Fault("missing residual", "gpt", _set("blocks.1", "residual", False), r"add.*blocks\.1|blocks\.2"),
    Fault("label shift", "gpt", _label_shift, r"^inputs"),
    Fault("wrong momentum", "cnn", _group(momentum=0.8), r"momentum"),
    Fault("wrong weight decay", "gpt", _group(weight_decay=0.1), r"weight_decay"),
    Fault("another init", "encoder", _other_seed, r"^weights"),
    Fault("a transposed weight", "tagger", _weight("query.weight", lambda x: x.roll(1, 0)), r"^weights.*query"),
    Fault("position off by one", "gpt", _set("", "shift", 1), r"add|embedding|pos"),
    Fault("padding mode", "cnn", _padding, r"pad|blocks\.1\.conv1"),
    Fault("not causal", "gpt", _set("blocks.3.attn", "causal", False), r"is_causal|scaled_dot_product.*blocks\.3"),
    Fault("a scaled output", "encoder", _hook("pool", lambda x: x * 1.1), r"pool|mul"),
    Fault("sum instead of mean pooling", "cnn", _hook("pool", lambda x: x * 4), r"pool|mul"),
    Fault("momentum of batch norm", "cnn", _set("blocks.1.bn2", "momentum", 0.01), r"momentum.*|blocks\.1\.bn2"),
    Fault("fp16 overflow", "gpt", _hook("blocks.1.mlp.proj", _overflow), r"_to_copy|blocks\.1"),
    Fault("a clamped activation", "encoder", _hook("layers.layers.0.linear1", lambda x: x.clamp(-1, 1)), r"clamp"),
    Fault("a scaled gradient", "encoder", _scaled_gradient, r"linear2|mul"),
]  # fmt: skip
"""Ten and more that are not in the plan."""
