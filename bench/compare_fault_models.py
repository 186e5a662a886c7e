"""Eight small models with faults that bench/compare_faults.py puts into them; five are those of transformers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

Tensor = torch.Tensor


def _adamw(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), lr=1e-3)


class Work:
    """A model, what is fed to it, and its loss; a fault changes one of them."""

    def __init__(self, model: nn.Module, feed: Callable[[nn.Module], tuple[Tensor, ...]], loss: Callable[..., Tensor]):
        self.model, self.feed, self.loss = model, feed, loss
        self.optimizer: Callable[[nn.Module], torch.optim.Optimizer] = _adamw
        self.after_backward: Callable[[nn.Module], Any] = lambda model: None

    def step(self) -> Tensor:
        return self.loss(*self.feed(self.model))


class Fault(NamedTuple):
    name: str
    put: Callable[[Work], Any]
    place: str = ""
    """A part of what the verdict must name; empty where any place may be named."""


class _Function(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def quick_gelu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(1.702 * x)


def tanh_gelu(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def hard_swish(x: Tensor) -> Tensor:
    return x * torch.clamp(x / 6 + 0.5, 0, 1)


def turned(x: Tensor) -> Tensor:
    return torch.roll(x, 1, -1)


def replaced(path: str, function: Callable[[Tensor], Tensor]) -> Callable[[Work], Any]:
    return lambda work: work.model.set_submodule(path, _Function(function))


def after(path: str, change: Callable[[Tensor], Tensor]) -> Callable[[Work], Any]:
    def hook(_: Any, __: Any, out: Any) -> Any:
        return (change(out[0]), *out[1:]) if isinstance(out, tuple) else change(out)

    return lambda work: work.model.get_submodule(path).register_forward_hook(hook)


def setting(path: str, name: str, value: Any) -> Callable[[Work], Any]:
    return lambda work: setattr(work.model.get_submodule(path), name, value)


def loss(function: Callable[..., Tensor]) -> Callable[[Work], Any]:
    return lambda work: setattr(work, "loss", function)


def tokens(logits: Tensor, labels: Tensor, *, shift: bool = False, **options: Any) -> Tensor:
    """Cross entropy over tokens."""
    if shift:
        logits, labels = logits[:, :-1], labels[:, 1:]
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), **options)


def _named(model: nn.Module, prefix: str, kind: type[nn.Module]) -> str:
    return next(name for name, one in model.named_modules() if name.startswith(prefix) and isinstance(one, kind))


def t5() -> tuple[Work, list[Fault]]:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=96, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0,
                      decoder_start_token_id=0, feed_forward_proj="gated-gelu")  # fmt: skip
    ids, labels = torch.randint(1, 96, (2, 10)), torch.randint(1, 96, (2, 8))
    work = Work(T5ForConditionalGeneration(config), lambda m: (m(input_ids=ids, labels=labels).logits, labels), tokens)
    dense, first = "encoder.block.1.layer.1.DenseReluDense", "encoder.block.0.layer.0.SelfAttention"
    return work, [
        Fault("another activation", replaced(f"{dense}.act", quick_gelu), "encoder.block.1"),
        Fault("2 % too large", after("decoder.block.0.layer.0.SelfAttention.o", lambda x: x * 1.02), "decoder.block.0"),
        Fault("buckets of positions", setting(first, "relative_attention_num_buckets", 16), "encoder.block.0"),
        Fault("eps of a norm", setting("decoder.block.1.layer.0.layer_norm", "variance_epsilon", 1e-2),
              "decoder.block.1"),
        Fault("channels turned", after("encoder.block.1.layer.0.SelfAttention.v", turned), "encoder.block.1.layer.0"),
        Fault("smoothed labels", loss(lambda x, y: tokens(x, y, label_smoothing=0.1))),
        Fault("sum for mean", loss(lambda x, y: tokens(x, y, reduction="sum"))),
    ]  # fmt: skip


def qwen2() -> tuple[Work, list[Fault]]:
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(vocab_size=96, hidden_size=32, intermediate_size=64, num_hidden_layers=3,
                         num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)  # fmt: skip
    ids = torch.randint(1, 96, (2, 12))
    work = Work(Qwen2ForCausalLM(config), lambda m: (m(input_ids=ids, use_cache=False).logits, ids), _shifted)
    return work, [
        Fault("another activation", replaced("model.layers.1.mlp.act_fn", F.gelu), "layers.1"),
        Fault("an approximation", replaced("model.layers.2.mlp.act_fn", hard_swish), "layers.2"),
        Fault("scale of attention", setting("model.layers.0.self_attn", "scaling", 0.25), "layers.0"),
        Fault("keys turned", after("model.layers.1.self_attn.k_proj", turned), "layers.1"),
        Fault("rotation too small", after("model.rotary_emb", lambda x: x * 0.98)),
        Fault("labels not shifted", loss(tokens)),
        Fault("sum for mean", loss(lambda x, y: _shifted(x, y, reduction="none").sum())),
        Fault("smoothed labels", loss(lambda x, y: _shifted(x, y, label_smoothing=0.05))),
    ]


def _shifted(logits: Tensor, labels: Tensor, **options: Any) -> Tensor:
    return tokens(logits, labels, shift=True, **options)


def vit() -> tuple[Work, list[Fault]]:
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=64,
                       image_size=16, patch_size=4, num_labels=5, hidden_dropout_prob=0.0,
                       attention_probs_dropout_prob=0.0)  # fmt: skip
    model, image, labels = ViTForImageClassification(config), torch.randn(3, 3, 16, 16), torch.randint(0, 5, (3,))
    work = Work(model, lambda m: (m(pixel_values=image).logits, labels), F.cross_entropy)
    layers = next(name for name, one in model.named_modules() if isinstance(one, nn.ModuleList))
    act = next(name for name, _ in model.named_modules() if name.startswith(f"{layers}.1") and "act" in name)

    def resized(to: Work) -> None:
        small = F.interpolate(F.interpolate(image, scale_factor=2.0, mode="bilinear"), scale_factor=0.5)
        to.feed = lambda m: (m(pixel_values=small).logits, labels)

    return work, [
        Fault("GELU by tanh", replaced(act, tanh_gelu), ".1."),
        Fault("quick GELU", replaced(act, quick_gelu), ".1."),
        Fault("eps of a norm", setting(_named(model, f"{layers}.2", nn.LayerNorm), "eps", 1e-3), ".2."),
        Fault("1 % too large", after(_named(model, f"{layers}.0", nn.Linear), lambda x: x * 1.01), ".0."),
        Fault("resized otherwise", resized),
        Fault("smoothed labels", loss(lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1))),
        Fault("sum for mean", loss(lambda x, y: F.cross_entropy(x, y, reduction="none").sum())),
    ]


def whisper() -> tuple[Work, list[Fault]]:
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(
        vocab_size=96, num_mel_bins=8, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, d_model=32, max_source_positions=16,
        max_target_positions=16, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        dropout=0.0, begin_suppress_tokens=None, suppress_tokens=None,
    )  # fmt: skip
    sound, ids = torch.randn(2, 8, 32), torch.randint(3, 96, (2, 8))
    work = Work(
        WhisperForConditionalGeneration(config),
        lambda m: (m(input_features=sound, decoder_input_ids=ids).logits, ids),
        tokens,
    )
    return work, [
        Fault("GELU by tanh", replaced("model.encoder.layers.1.activation_fn", tanh_gelu), "encoder.layers.1"),
        Fault("ReLU for GELU", replaced("model.decoder.layers.0.activation_fn", F.relu), "decoder.layers.0"),
        Fault("channels turned", after("model.encoder.conv2", lambda x: torch.roll(x, 1, 1)), "encoder"),
        Fault("1 % too small", after("model.decoder.layers.1.fc2", lambda x: x * 0.99), "decoder.layers.1"),
        Fault("scale of attention", setting("model.decoder.layers.1.self_attn", "scaling", 0.3), "decoder.layers.1"),
        Fault("labels shifted", loss(_shifted)),
    ]


def mixtral() -> tuple[Work, list[Fault]]:
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                           num_attention_heads=4, num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2,
                           max_position_embeddings=64)  # fmt: skip
    model, ids = MixtralForCausalLM(config), torch.randint(1, 96, (2, 12))
    work = Work(model, lambda m: (m(input_ids=ids, use_cache=False).logits, ids), _shifted)
    gate = next(name for name, _ in model.named_modules() if name.startswith("model.layers.1.") and name[-4:] == "gate")

    def before(to: Work) -> None:
        to.model.get_submodule(gate).register_forward_pre_hook(lambda _, args: (args[0] * 1.5, *args[1:]))

    def other(to: Work) -> None:
        to.model.get_submodule(gate).register_forward_pre_hook(lambda _, args: (turned(args[0]), *args[1:]))

    return work, [
        Fault("routed by other values", other, "layers.1"),
        Fault("sharper routing", before, "layers.1"),
        Fault("eps of a norm", setting("model.layers.1.post_attention_layernorm", "variance_epsilon", 1e-2),
              "layers.1"),
        Fault("values turned", after("model.layers.0.self_attn.v_proj", turned), "layers.0"),
        Fault("one in a thousand", after("model.layers.0.self_attn.o_proj", lambda x: x + 1e-3 * x.abs()), "layers.0"),
        Fault("labels not shifted", loss(tokens)),
    ]  # fmt: skip


class _Conv(nn.Module):
    def __init__(self, first: int, second: int) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(first, second, 3, padding=1), nn.GroupNorm(2, second)
        self.act: nn.Module = nn.SiLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.norm(self.conv(x)))


class UNet(nn.Module):
    mode = "nearest"

    def __init__(self) -> None:
        super().__init__()
        self.d1, self.d2, self.mid, self.u2, self.u1 = (
            _Conv(*sizes) for sizes in ((3, 8), (8, 16), (16, 16), (32, 8), (16, 8))
        )
        self.out, self.pool = nn.Conv2d(8, 3, 1), nn.AvgPool2d(2)

    def forward(self, x: Tensor) -> Tensor:
        a = self.d1(x)
        b = self.d2(self.pool(a))
        y = self.mid(self.pool(b))
        for layer, skip in ((self.u2, b), (self.u1, a)):
            y = layer(torch.cat([F.interpolate(y, scale_factor=2.0, mode=self.mode), skip], 1))
        return self.out(y)


def unet() -> tuple[Work, list[Fault]]:
    image, wanted = torch.randn(2, 3, 16, 16), torch.randn(2, 3, 16, 16)
    return Work(UNet(), lambda m: (m(image), wanted), F.mse_loss), [
        Fault("bilinear for nearest", setting("", "mode", "bilinear")),
        Fault("GELU for SiLU", replaced("u2.act", F.gelu), "u2"),
        Fault("an approximation", replaced("d2.act", hard_swish), "d2"),
        Fault("another pooling", setting("", "pool", nn.MaxPool2d(2))),
        Fault("groups of a norm", setting("u1.norm", "num_groups", 4), "u1"),
        Fault("sum for mean", loss(lambda x, y: (x - y).square().sum())),
        Fault("L1", loss(F.l1_loss)),
        Fault("smooth L1", loss(F.smooth_l1_loss)),
    ]


class Translator(nn.Module):
    """GRUs with attention over the states of the first."""

    heat = 1.0

    def __init__(self) -> None:
        super().__init__()
        self.tok, self.query, self.out = nn.Embedding(50, 16), nn.Linear(16, 16), nn.Linear(32, 50)
        self.encode, self.decode = nn.GRU(16, 16, batch_first=True), nn.GRU(16, 16, batch_first=True)
        self.score = nn.Identity()

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        states, last = self.encode(self.tok(x))
        d, _ = self.decode(self.tok(y), last)
        weights = self.score(self.query(d) @ states.transpose(1, 2) / 4 * self.heat).softmax(-1)
        return self.out(torch.cat([d, weights @ states], -1))


def seq2seq() -> tuple[Work, list[Fault]]:
    x, y = torch.randint(0, 50, (2, 7)), torch.randint(0, 50, (2, 6))

    def reversed_(work: Work) -> None:
        work.feed = lambda m: (m(x.flip(1), y), y)

    return Work(Translator(), lambda m: (m(x, y), y), _shifted), [
        Fault("a mask", after("score", lambda a: a.masked_fill(torch.ones_like(a).triu(1) > 0, -1e9))),
        Fault("tanh after a layer", after("query", torch.tanh)),
        Fault("read in reverse", reversed_),
        Fault("heat of a softmax", setting("", "heat", 0.9)),
        Fault("labels not shifted", loss(tokens)),
        Fault("a class ignored", loss(lambda a, b: _shifted(a, b, ignore_index=int(y[0, 2])))),
    ]


class Gan(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.g = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 8), nn.Tanh())
        self.d = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, z: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.d(self.g(z)), self.d(x)


def _judged(fake: Tensor, real: Tensor, wanted: tuple[float, float] = (0.0, 1.0)) -> Tensor:
    pairs = zip((fake, real), wanted, strict=True)
    return sum((F.binary_cross_entropy_with_logits(x, torch.full_like(x, to)) for x, to in pairs), torch.zeros(()))


def gan() -> tuple[Work, list[Fault]]:
    z, x = torch.randn(6, 4), torch.randn(6, 8)
    return Work(Gan(), lambda m: m(z, x), _judged), [
        Fault("slope", setting("d.1", "negative_slope", 0.1), "d.1"),
        Fault("ELU", replaced("g.1", F.elu), "g"),
        Fault("hard tanh", replaced("g.3", F.hardtanh), "g"),
        Fault("real and fake swapped", loss(lambda fake, real: _judged(real, fake))),
        Fault("hinge", loss(lambda fake, real: F.relu(1 + fake).mean() + F.relu(1 - real).mean())),
        Fault("soft labels", loss(lambda fake, real: _judged(fake, real, (0.0, 0.9)))),
    ]


MODELS: dict[str, Callable[[], tuple[Work, list[Fault]]]] = {
    "t5": t5, "qwen2": qwen2, "vit": vit, "whisper": whisper, "mixtral": mixtral, "unet": unet, "seq2seq": seq2seq,
    "gan": gan,
}  # fmt: skip
