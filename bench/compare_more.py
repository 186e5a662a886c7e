"""Models and faults beside those of the plan: recurrent, vision, mixture of experts, and two of transformers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from compare_models import Fault, Task, cross_entropy
from torch import nn


class Recurrent(nn.Module):
    def __init__(self, width: int = 32, classes: int = 6) -> None:
        super().__init__()
        self.tok, self.gru = nn.Embedding(60, width), nn.GRU(width, width, 2, batch_first=True)
        self.drop, self.head = nn.Dropout(0.0), nn.Linear(width, classes)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.drop(self.gru(self.tok(ids))[0][:, -1]))


class Patches(nn.Module):
    """A vision transformer with attention by hand."""

    scale = 1.0
    diagonal = 1
    base = 10000.0

    def __init__(self, width: int = 32, classes: int = 6, layers: int = 2) -> None:
        super().__init__()
        self.patch, self.cls = nn.Conv2d(3, width, 4, 4), nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers + 1))
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.up = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(layers))
        self.head = nn.Linear(width, classes)

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) * self.scale
        mask = torch.triu(torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device), self.diagonal)
        return scores.masked_fill(mask, float("-inf")).softmax(-1) @ v

    def rotate(self, x: torch.Tensor) -> torch.Tensor:
        half = x.shape[-1] // 2
        steps = self.base ** (-torch.arange(half, device=x.device) / half)
        angle = torch.arange(x.shape[1], device=x.device)[:, None] * steps
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([x, self.cls.expand(len(x), -1, -1)], 1)
        for at, qkv in enumerate(self.qkv):
            q, k, v = qkv(self.norms[2 * at](x)).chunk(3, -1)
            x = x + self.attend(self.rotate(q), self.rotate(k), v)
            x = x + self.down[at](F.silu(self.up[at](self.norms[2 * at + 1](x))))
        return self.head(self.norms[-1](x)[:, -1])


class Hourglass(nn.Module):
    """A small U-Net: down, up, a skip connection, group and batch norm."""

    align = False
    skip = True

    def __init__(self, width: int = 8, classes: int = 4) -> None:
        super().__init__()
        self.enter, self.down = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 2 * width, 3, 2, 1)
        self.bn, self.gn = nn.BatchNorm2d(width), nn.GroupNorm(4, 2 * width)
        self.up, self.out = nn.ConvTranspose2d(2 * width, width, 2, 2), nn.Conv2d(2 * width, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = F.leaky_relu(self.bn(self.enter(x)), 0.1)
        b = F.relu(self.gn(self.down(a)))
        b = F.interpolate(F.avg_pool2d(b, 2), scale_factor=2, mode="bilinear", align_corners=self.align)
        return self.out(torch.cat([a if self.skip else a * 0, self.up(b)], 1)).permute(0, 2, 3, 1)


class Experts(nn.Module):
    """Each token goes to the best two of four experts and is gathered again."""

    dim = -1
    best = 2
    gather = "add"

    def __init__(self, width: int = 24, classes: int = 7) -> None:
        super().__init__()
        self.tok, self.gate = nn.Embedding(60, width), nn.Linear(width, 4)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
                                     for _ in range(4))  # fmt: skip
        self.head = nn.Linear(width, classes)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tok(ids).flatten(0, 1)
        weight, which = self.gate(x).softmax(self.dim).topk(self.best, -1)
        y = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            row, place = torch.where(which == number)
            part = (expert(x[row]) * weight[row, place, None]).to(y.dtype)
            y = y.index_add(0, row, part) if self.gather == "add" else y.index_copy(0, row, part)
        return self.head(x + y).unflatten(0, ids.shape)


def task(name: str, seed: int = 0) -> Task:
    torch.manual_seed(seed)
    ids = torch.randint(1, 60, (6, 12))
    image = torch.randn(4, 3, 16, 16)
    if name == "recurrent":
        return _task(Recurrent(), ids, torch.randint(0, 6, (6,)), torch.optim.Adam)
    if name == "patches":
        return _task(Patches(), image, torch.randint(0, 6, (4,)), torch.optim.AdamW)
    if name == "hourglass":
        return _task(Hourglass(), image, torch.randint(0, 4, (4, 16, 16)), torch.optim.SGD, momentum=0.9)
    if name == "experts":
        return _task(Experts(), ids, torch.randint(0, 7, (6, 12)), torch.optim.RMSprop)
    model = _llama() if name == "llama" else _bert()
    return _task(model, ids, torch.randint(0, 60, (6, 12)), torch.optim.AdamW)


def _task(model: nn.Module, x: torch.Tensor, y: torch.Tensor, make: Any, **options: Any) -> Task:
    return Task(model, (x, y), make(model.parameters(), lr=1e-3, **options), cross_entropy)


class _Logits(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.inner(input_ids=ids).logits


_SIZES = {"vocab_size": 60, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
          "num_attention_heads": 4, "max_position_embeddings": 64}  # fmt: skip


def _llama() -> nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM

    return _Logits(LlamaForCausalLM(LlamaConfig(**_SIZES, num_key_value_heads=2, use_cache=False)))


def _bert() -> nn.Module:
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(**_SIZES, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return _Logits(BertForMaskedLM(config))


def _set(path: str, name: str, value: Any) -> Callable[[Task], None]:
    return lambda work: setattr(work.model.get_submodule(path), name, value)


def _out(path: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Task], None]:
    def put(work: Task) -> None:
        work.model.get_submodule(path).register_forward_hook(lambda _, __, out: change(out))

    return put


def _loss(**options: Any) -> Callable[[Task], Task]:
    return lambda work: work._replace(loss=lambda out, y: F.cross_entropy(out.flatten(0, -2), y.flatten(), **options))


def _group(**settings: Any) -> Callable[[Task], None]:
    return lambda work: [group.update(settings) for group in work.optimizer.param_groups] and None


def _keep_gradients(work: Task) -> None:
    work.optimizer.zero_grad = lambda *_: None  # type: ignore[method-assign]


def _swapped(path: str) -> Callable[[Task], None]:
    def put(work: Task) -> None:
        with torch.no_grad():
            weight = work.model.get_parameter(path)
            weight.copy_(weight.t().clone())

    return put


def _clipped(work: Task) -> None:
    work.optimizer.register_step_pre_hook(
        lambda optimizer, *_: torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 0.05) and None
    )


def _half_sum(path: str) -> Callable[[Task], None]:
    def put(work: Task) -> None:
        layer = work.model.get_submodule(path)
        layer.forward = lambda x: (x.half() @ layer.weight.half().t()).float() + layer.bias  # type: ignore

    return put


def _stop_gradient(work: Task) -> None:
    work.model.get_submodule("gate").register_forward_hook(lambda _, __, out: out.detach())


def _slower(work: Task) -> None:
    work.model.get_buffer("inner.model.rotary_emb.inv_freq").mul_(0.9)


def _drop(x: torch.Tensor) -> torch.Tensor:
    mask = torch.rand(x.shape, generator=torch.Generator().manual_seed(3)) > 0.1
    return x * mask.to(x)


MORE = [
    Fault("mask one off", "patches", _set("", "diagonal", 2), r"triu|masked_fill|diagonal"),
    Fault("base of the rotation", "patches", _set("", "base", 500000.0), r"pow|arange"),
    Fault("attention without root", "patches", _set("", "scale", 4.0), r"mul|div"),
    Fault("a constant mistaken by 1 %", "patches", _set("", "scale", 1.01), r"mul"),
    Fault("an eps of LayerNorm", "patches", _set("norms.2", "eps", 1e-3), r"layer_norm.*norms\.2"),
    Fault("sums in fp16", "patches", _half_sum("up.1"), r"up\.1|Patches"),
    Fault("betas", "patches", _group(betas=(0.9, 0.95)), r"betas"),
    Fault("weight decay", "patches", _group(weight_decay=0.1), r"weight_decay"),
    Fault("label smoothing", "patches", _loss(label_smoothing=0.1), r"mean|sum|neg|mul|log_softmax|nll"),
    Fault("gradients not zeroed", "patches", _keep_gradients, r"grad|add|accumulate"),
    Fault("gradients clipped", "patches", _clipped, r"state|grad|mul|norm"),
    Fault("another dropout", "recurrent", _set("drop", "p", 0.3), r"dropout|bernoulli|random|Recurrent\.drop"),
    Fault("dropout without its factor", "recurrent", _out("drop", _drop), r"drop|mul"),
    Fault("states in reverse", "recurrent", _out("gru", lambda out: (out[0].flip(1), out[1])), r"flip|gru|select"),
    Fault("another class ignored", "recurrent", _loss(ignore_index=3), r"nll_loss|ignore_index"),
    Fault("eps of Adam", "recurrent", _group(eps=1e-4), r"eps"),
    Fault("padding of a convolution", "hourglass", _set("enter", "padding_mode", "circular"), r"pad|enter"),
    Fault("momentum of batch norm", "hourglass", _set("bn", "momentum", 0.2), r"momentum"),
    Fault("eps of batch norm", "hourglass", _set("bn", "eps", 1e-3), r"batch_norm.*bn|eps"),
    Fault("corners aligned", "hourglass", _set("", "align", True), r"upsample|align_corners"),
    Fault("skip connection lost", "hourglass", _set("", "skip", False), r"mul|cat"),
    Fault("groups of a norm", "hourglass", _set("gn", "num_groups", 2), r"group_norm.*gn"),
    Fault("batch norm not training", "hourglass", lambda work: work.model.get_submodule("bn").eval() and None,
          r"batch_norm.*bn"),
    Fault("nesterov", "hourglass", _group(nesterov=True), r"nesterov"),
    Fault("sum of the loss", "hourglass", _loss(reduction="sum"), r"nll_loss|reduction"),
    Fault("softmax over tokens", "experts", _set("", "dim", 0), r"softmax"),
    Fault("one expert only", "experts", _set("", "best", 1), r"topk"),
    Fault("copied instead of added", "experts", _set("", "gather", "copy"), r"index_copy|index_add"),
    Fault("gradient stopped", "experts", _stop_gradient, r"gate|softmax|detach"),
    Fault("alpha of RMSprop", "experts", _group(alpha=0.9), r"alpha"),
    Fault("eps of RMSNorm", "llama", _set("inner.model.layers.1.input_layernorm", "variance_epsilon", 1e-3),
          r"layers\.1\.input_layernorm"),
    Fault("rotary base", "llama", _slower, r"inv_freq"),
    Fault("a transposed weight", "llama", _swapped("inner.model.layers.0.self_attn.o_proj.weight"), r"weights.*o_proj"),
    Fault("wrong activation", "llama", _set("inner.model.layers.0.mlp", "act_fn", nn.GELU()), r"layers\.0\.mlp"),
    Fault("scale of attention", "llama", _set("inner.model.layers.1.self_attn", "scaling", 0.5),
          r"layers\.1\.self_attn"),
    Fault("a lost token type", "bert", _set("inner.bert.embeddings.token_type_embeddings", "forward",
          lambda ids: torch.zeros(*ids.shape, 32)), r"token_type|embeddings"),
    Fault("tanh for gelu", "bert", _set("inner.bert.encoder.layer.1.intermediate", "intermediate_act_fn", nn.Tanh()),
          r"layer\.1\.intermediate"),
]  # fmt: skip
MODELS = ("recurrent", "patches", "hourglass", "experts", "llama", "bert")
