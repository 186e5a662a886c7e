"""Faults of other kinds on the models of compare_fault_models.py, written down before any of them was tried.

Rules are never tuned on these: bench/compare_faults.py --half new reports what is found of them.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

import torch
import torch.nn.functional as F
from compare_fault_models import Fault, Work, _named, _shifted, after, loss, setting, tokens
from torch import nn

Tensor = torch.Tensor


def optimizer(**options: Any) -> Callable[[Work], Any]:
    """AdamW with other settings."""
    return lambda work: setattr(work, "optimizer", lambda model: torch.optim.AdamW(_all(model), 1e-3, **options))


def _all(model: nn.Module) -> list[Tensor]:
    return list(model.parameters())


def no_decay_of_biases(work: Work) -> None:
    def make(model: nn.Module) -> torch.optim.Optimizer:
        plain = [one for one in model.parameters() if one.dim() > 1]
        biases = [one for one in model.parameters() if one.dim() <= 1]
        return torch.optim.AdamW([{"params": plain}, {"params": biases, "weight_decay": 0.0}], 1e-3)

    work.optimizer = make


def clipped(work: Work) -> None:
    work.after_backward = lambda model: nn.utils.clip_grad_norm_(model.parameters(), 0.05)


def slower_too_early(work: Work) -> None:
    def make(model: nn.Module) -> torch.optim.Optimizer:
        made = torch.optim.AdamW(model.parameters(), 1e-3)
        made.register_step_post_hook(lambda one, *_: one.param_groups[0].update(lr=5e-4))
        return made

    work.optimizer = make


def forward(path: str, function: Callable[..., Any]) -> Callable[[Work], Any]:
    def put(work: Work) -> None:
        module = work.model.get_submodule(path)
        module.forward = MethodType(function, module)

    return put


def _without_residual(self: Any, x: Tensor, *_: Any, **__: Any) -> Tensor:
    return self.dropout(self.DenseReluDense(self.layer_norm(x)))


def _softmax_over_queries(self: Any, x: Tensor, y: Tensor) -> Tensor:
    states, last = self.encode(self.tok(x))
    d, _ = self.decode(self.tok(y), last)
    weights = self.score(self.query(d) @ states.transpose(1, 2) / 4 * self.heat).softmax(1)
    return self.out(torch.cat([d, weights @ states], -1))


def _last_state_left_out(self: Any, x: Tensor, y: Tensor) -> Tensor:
    states, _ = self.encode(self.tok(x))
    d, _ = self.decode(self.tok(y))
    weights = self.score(self.query(d) @ states.transpose(1, 2) / 4 * self.heat).softmax(-1)
    return self.out(torch.cat([d, weights @ states], -1))


def _skips_swapped(self: Any, x: Tensor) -> Tensor:
    a = self.d1(x)
    b = self.d2(self.pool(a))
    y = self.mid(self.pool(b))
    y = self.u2(torch.cat([b, F.interpolate(y, scale_factor=2.0, mode=self.mode)], 1))
    return self.out(self.u1(torch.cat([F.interpolate(y, scale_factor=2.0, mode=self.mode), a], 1)))


def _fake_detached(self: Any, z: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    return self.d(self.g(z).detach()), self.d(x)


def rope_base(work: Work) -> None:
    rotary = work.model.get_submodule("model.rotary_emb")
    half = rotary.inv_freq.numel()
    rotary.inv_freq.copy_(5000.0 ** (-torch.arange(half) / half))


def masked(work: Work) -> None:
    """The last two tokens are taken for padding."""
    plain = work.model.forward

    def call(input_ids: Tensor, **rest: Any) -> Any:
        mask = torch.ones_like(input_ids)
        mask[:, -2:] = 0
        return plain(input_ids=input_ids, attention_mask=mask, **rest)

    work.model.forward = call  # type: ignore[method-assign]


def averaged_experts(work: Work) -> None:
    """The mean of the two experts of a token in place of their sum."""
    names = [name for name, _ in work.model.named_modules()]
    moe = next(name for name in ("model.layers.0.mlp", "model.layers.0.block_sparse_moe") if name in names)
    after(moe, lambda x: x * 0.5)(work)


def _layers(work: Work) -> str:
    return next(name for name, one in work.model.named_modules() if isinstance(one, nn.ModuleList))


def smaller_eps(work: Work) -> None:
    setting(_named(work.model, f"{_layers(work)}.0", nn.LayerNorm), "eps", 1e-6)(work)


def branch_left_out(work: Work) -> None:
    name = [name for name, one in work.model.named_modules()
            if name.startswith(f"{_layers(work)}.2") and isinstance(one, nn.Linear)][-1]  # fmt: skip
    after(name, torch.zeros_like)(work)


def another_token(work: Work) -> None:
    norm = [name for name, one in work.model.named_modules() if isinstance(one, nn.LayerNorm)][-1]
    after(norm, lambda x: x.roll(1, 1))(work)


NEW: dict[str, list[Fault]] = {
    "t5": [
        Fault("residual left out", forward("decoder.block.1.layer.2", _without_residual), "decoder.block.1"),
        Fault("no weight decay", optimizer(weight_decay=0.0), "optimizer"),
        Fault("padding masked", masked),
    ],
    "qwen2": [
        Fault("base of the rotation", rope_base, "rotary_emb"),
        Fault("no scale by sqrt(d)", setting("model.layers.2.self_attn", "scaling", 1.0), "layers.2"),
        Fault("a label ignored", loss(lambda x, y: _shifted(x, y, ignore_index=int(y[0, 3])))),
    ],
    "vit": [
        Fault("smaller eps", smaller_eps, ".0."),
        Fault("branch left out", branch_left_out, ".2."),
        Fault("another token read", another_token),
    ],
    "whisper": [
        Fault("positions off by one", after("model.decoder.embed_positions", lambda x: x.roll(1, -2)), "decoder"),
        Fault("padding in a circle", setting("model.encoder.conv1", "padding_mode", "circular"), "encoder"),
        Fault("half of the labels repeated", loss(lambda x, y: torch.stack([tokens(a[None], b[None, :4].repeat(1, 2))
                                                                    for a, b in zip(x, y, strict=True)]).mean())),
    ],
    "mixtral": [
        Fault("mean of experts", averaged_experts, "layers.0"),
        Fault("eps of the optimizer", optimizer(eps=1e-5), "optimizer"),
    ],
    "unet": [
        Fault("padding in a circle", setting("mid.conv", "padding_mode", "circular"), "mid"),
        Fault("another momentum", optimizer(betas=(0.8, 0.999)), "optimizer"),
        Fault("skip in another order", forward("", _skips_swapped), "u2"),
    ],
    "seq2seq": [
        Fault("softmax over queries", forward("", _softmax_over_queries), "softmax"),
        Fault("last state left out", forward("", _last_state_left_out)),
        Fault("gradients clipped", clipped),
    ],
    "gan": [
        Fault("rate falls too early", slower_too_early, "optimizer"),
        Fault("generator detached", forward("", _fake_detached)),
        Fault("dropout left on", after("d.1", lambda x: F.dropout(x, 0.1)), "d"),
        Fault("no decay of biases", no_decay_of_biases, "optimizer"),
    ],
}  # fmt: skip
