"""Faults on the models of compare_third_models.py, written down before any of them was tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from compare_fault_models import Fault, Work, after, loss, replaced, setting, tanh_gelu, tokens
from compare_new_faults import forward, no_decay_of_biases, optimizer
from compare_third_models import Clip, Denoiser, GroupedLlama, GroupResNet, Mamba, Masked, Tags, Vae, vae_loss
from torch import nn

Tensor = torch.Tensor
Made = tuple[Work, list[Fault]]


def _sgd(**options: Any) -> Callable[[Work], Any]:
    return lambda work: setattr(
        work, "optimizer", lambda model: torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, **options)
    )


def _coupled(work: Work) -> None:
    work.optimizer = lambda model: torch.optim.Adam(model.parameters(), 1e-3, weight_decay=1e-2)


def _by_value(work: Work) -> None:
    work.after_backward = lambda model: nn.utils.clip_grad_value_(model.parameters(), 1e-3)


def _warm_up(work: Work) -> None:
    def make(model: nn.Module) -> torch.optim.Optimizer:
        made = torch.optim.AdamW(model.parameters(), 1e-4)
        made.register_step_post_hook(lambda one, *_: one.param_groups[0].update(lr=1e-3))
        return made

    work.optimizer = make


def _frozen(path: str) -> Callable[[Work], Any]:
    return lambda work: work.model.get_submodule(path).requires_grad_(False)


def _stages_swapped(self: Any, x: Tensor) -> Tensor:
    y = F.relu(self.n1(self.one(x)))
    return F.relu(self.short(x)) + self.n2(self.two(y))


def _gate_detached(self: Any, x: Tensor) -> Tensor:
    return self.down(F.silu(self.gate(x)).detach() * self.up(x))


def _norm_after(self: Any, x: Tensor) -> Tensor:
    x = self.n1(x + self.attn(x))
    return x + self.mlp(self.n2(x))


def mamba() -> Made:
    ids = torch.randint(1, 40, (2, 9))
    return Work(Mamba(), lambda m: (m(ids), ids), lambda x, y: tokens(x, y, shift=True)), [
        Fault("softplus left out", setting("blocks.1", "softplus", False), "blocks.1"),
        Fault("direct path left out", setting("blocks.0", "skip", False), "blocks.0"),
        Fault("state not carried", setting("blocks.1", "carried", False), "blocks.1"),
        Fault("convolution one late", setting("blocks.0", "causal", False), "blocks.0"),
        Fault("no decay of biases", no_decay_of_biases, "optimizer"),
    ]


def group_resnet() -> Made:
    image, labels = torch.randn(4, 3, 16, 16), torch.randint(0, 7, (4,))
    work = Work(GroupResNet(), lambda m: (m(image), labels), F.cross_entropy)
    _sgd()(work)
    return work, [
        Fault("eps of a norm", setting("stages.1.n1", "eps", 1e-3), "stages.1.n1"),
        Fault("padding counted otherwise", setting("pool", "count_include_pad", False), "pool"),
        Fault("maximum for mean", setting("stages.1", "short", nn.MaxPool2d(2)), "stages.1"),
        Fault("activation before the sum", forward("stages.2", _stages_swapped), "stages.2"),
        Fault("nesterov", _sgd(nesterov=True), "optimizer"),
        Fault("weight decay", _sgd(weight_decay=1e-4), "optimizer"),
    ]


def clip() -> Made:
    image, ids = torch.randn(5, 3, 16, 16), torch.randint(1, 30, (5, 7))
    ids[torch.arange(5), torch.tensor([2, 3, 6, 4, 5])] = 39
    labels = torch.arange(5)

    def both(scores: Tensor) -> Tensor:
        return (F.cross_entropy(scores, labels) + F.cross_entropy(scores.t(), labels)) / 2

    return Work(Clip(), lambda m: (m(image, ids),), both), [
        Fault("text not normalised", setting("", "normalised", False)),
        Fault("heat without exponent", setting("", "exponent", False)),
        Fault("last word for the end", setting("", "last", True)),
        Fault("loss of images only", loss(lambda scores: F.cross_entropy(scores, labels))),
        Fault("eps of a norm", setting("text.norm2", "eps", 1e-2), "text.norm2"),
        Fault("swapped betas", optimizer(betas=(0.999, 0.9)), "optimizer"),
    ]


def tags() -> Made:
    ids, labels = torch.randint(1, 40, (4, 8)), torch.randint(0, 5, (4, 8))
    ids[2:, 6:] = 0
    labels[2:, 6:] = -100
    work = Work(Tags(), lambda m: (m(ids), labels), lambda x, y: F.cross_entropy(x.flatten(0, 1), y.flatten()))

    def per_place(x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(x.flatten(0, 1), y.flatten(), reduction="none").mean()

    return work, [
        Fault("states not turned back", setting("", "turned_back", False)),
        Fault("padding in the mean", loss(per_place)),
        Fault("gradients clipped by value", _by_value),
        Fault("weight decay coupled", _coupled, "optimizer"),
        Fault("another head", after("head", lambda x: x * 1.02), "head"),
    ]


def diffusion() -> Made:
    image, noise, t = torch.randn(4, 3, 8, 8), torch.randn(4, 3, 8, 8), torch.randint(0, 90, (4,))

    def other_betas(work: Work) -> None:
        kept = work.model.get_buffer("kept")
        kept.copy_(torch.cumprod(1 - torch.linspace(1e-4**0.5, 0.02**0.5, 100) ** 2, 0))

    def velocity(guess: Tensor, _: Tensor) -> Tensor:
        return F.mse_loss(guess, noise - image)

    return Work(Denoiser(), lambda m: (m(image, noise, t), noise), F.mse_loss), [
        Fault("share without its root", setting("", "root", False)),
        Fault("time one late", setting("", "shift", 1)),
        Fault("sine and cosine swapped", setting("", "cosine_first", True)),
        Fault("another schedule of noise", other_betas, "kept"),
        Fault("velocity for noise", loss(velocity)),
        Fault("rate warms up", _warm_up, "optimizer"),
    ]


def masked() -> Made:
    ids, labels = torch.randint(1, 40, (4, 10)), torch.randint(1, 40, (4, 10))
    ids[1, 7:] = 0
    labels[:, ::2] = -100
    work = Work(Masked(), lambda m: (m(ids), labels), lambda x, y: F.cross_entropy(x.flatten(0, 1), y.flatten()))
    return work, [
        Fault("sign of the mask", setting("", "sign", -1.0)),
        Fault("positions one late", setting("", "first", 1)),
        Fault("softmax over queries", setting("", "axis", -2)),
        Fault("scores not divided", setting("", "divided", False)),
        Fault("GELU by tanh", replaced("act.1", tanh_gelu), "act.1"),
        Fault("dropout left on", setting("drop", "p", 0.1), "drop"),
        Fault("frozen words", _frozen("tok")),
        Fault("words that are not hidden count", loss(lambda x, y: tokens(x, y.clamp_min(0)))),
    ]


def vae() -> Made:
    x, noise = torch.randn(6, 20), torch.randn(6, 6)

    def detached(a: Tensor, out: Tensor, mu: Tensor, spread: Tensor) -> Tensor:
        return vae_loss(a, out, mu.detach(), spread)

    return Work(Vae(), lambda m: (x, *m(x, noise)), vae_loss), [
        Fault("logarithm not halved", setting("", "halved", False)),
        Fault("distance weighed", loss(lambda *a: vae_loss(*a, weight=0.5))),
        Fault("sum for mean", loss(lambda *a: vae_loss(*a, reduction="sum"))),
        Fault("mean detached", loss(detached)),
        Fault("a branch frozen", _frozen("spread")),
        Fault("another memory of squares", optimizer(betas=(0.9, 0.99)), "optimizer"),
    ]


def grouped() -> Made:
    ids = torch.randint(1, 40, (2, 10))
    return Work(GroupedLlama(), lambda m: (m(ids), ids), lambda x, y: tokens(x, y, shift=True)), [
        Fault("base of the rotation", setting("layers.1.attn", "base", 500000.0), "layers.1.attn"),
        Fault("pairs interleaved", setting("layers.0.attn", "interleaved", True), "layers.0.attn"),
        Fault("heads tiled", setting("layers.2.attn", "tiled", True), "layers.2.attn"),
        Fault("a window", setting("layers.1.attn", "window", 4), "layers.1.attn"),
        Fault("scale left out", setting("layers.0.attn", "scale", 1.0), "layers.0.attn"),
        Fault("positions one late on keys", after("layers.1.attn.k", lambda x: x.roll(1, 1)), "layers.1.attn"),
        Fault("a norm in bfloat16", setting("layers.1.n2", "narrow", True), "layers.1.n2"),
        Fault("eps of a norm", setting("layers.2.n1", "eps", 1e-3), "layers.2.n1"),
        Fault("gate detached", forward("layers.1.mlp", _gate_detached), "layers.1.mlp"),
        Fault("norm after the sum", forward("layers.0", _norm_after), "layers.0"),
    ]


THIRD: dict[str, Callable[[], Made]] = {
    "mamba": mamba, "resnet": group_resnet, "clip": clip, "tagger": tags, "diffusion": diffusion, "masked": masked,
    "vae": vae, "grouped": grouped,
}  # fmt: skip
