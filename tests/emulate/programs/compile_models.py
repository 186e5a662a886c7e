"""Models and ways of compiling that were drawn before the first run: each against itself, uncompiled, on the card.

Usage: compile_models.py [NAME…]; prints one line for each and ends with 1 if one differs.
"""

from __future__ import annotations

import copy
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401
from torch import nn

CASES: dict[str, Callable[[], str]] = {}
_TOLERANCE = 2e-3


def case(make: Callable[[], str]) -> Callable[[], str]:
    CASES[make.__name__] = make
    return make


def card(*shape: int, dtype: torch.dtype = torch.float32, grad: bool = False) -> torch.Tensor:
    return torch.randn(*shape).to(dtype).npu().requires_grad_(grad)


def whole(*shape: int, high: int = 10) -> torch.Tensor:
    return torch.randint(0, high, shape).npu()


def tensors(found: Any) -> list[torch.Tensor]:
    if isinstance(found, torch.Tensor):
        return [found]
    if isinstance(found, dict):
        return [one for value in found.values() for one in tensors(value)]
    if isinstance(found, Iterable) and not isinstance(found, str):
        return [one for value in found for one in tensors(value)]
    return []


def far(wanted: Any, found: Any, tolerance: float = _TOLERANCE) -> list[str]:
    """What differs, by place."""
    left, right = tensors(wanted), tensors(found)
    said = [] if len(left) == len(right) else [f"{len(left)} tensors against {len(right)}"]
    for place, (one, other) in enumerate(zip(left, right)):
        if one.shape != other.shape or one.dtype != other.dtype or one.device != other.device:
            said.append(f"{place}: {one.dtype} {tuple(one.shape)} against {other.dtype} {tuple(other.shape)}")
            continue
        one, other = one.detach().cpu().double(), other.detach().cpu().double()
        room = tolerance * max(1.0, float(one.abs().max()) if one.numel() else 1.0)
        if not torch.allclose(one, other, rtol=0, atol=room, equal_nan=True):
            said.append(f"{place}: {float((one - other).abs().max()):.2g} apart")
    return said


def trained(model: nn.Module, *inputs: Any, tolerance: float = _TOLERANCE, **options: Any) -> str:
    """Two forward and backward passes of a module, compiled and not."""
    twin = copy.deepcopy(model)
    compiled = torch.compile(twin, **options)
    said: list[str] = []
    for _ in range(2):
        answers = []
        for one in (model, compiled):
            torch.manual_seed(1)
            one.zero_grad()  # gradients of a replayed graph are overwritten by its next run
            found = one(*inputs)
            sum(each.float().square().mean() for each in tensors(found) if each.requires_grad).backward()
            answers.append(tensors(found))
        said += far(answers[0], [one.clone() for one in answers[1]], tolerance)
    names = [name for name, one in model.named_parameters() if one.grad is not None]
    missing = [name for name, one in twin.named_parameters() if (one.grad is None) != (name not in names)]
    said += [f"gradient of {name}" for name in missing]
    pairs = dict(twin.named_parameters())
    for name, one in model.named_parameters():
        if one.grad is not None and pairs[name].grad is not None:
            said += [f"gradient of {name} {text}" for text in far(one.grad, pairs[name].grad, tolerance)]
    said += [f"buffers {text}" for text in far(list(model.buffers()), list(twin.buffers()), tolerance)]
    return "; ".join(said)


def called(function: Callable[..., Any], *inputs: Any, tolerance: float = _TOLERANCE, **options: Any) -> str:
    """A function and the gradients of its inputs, compiled and not."""
    answers = []
    for one in (function, torch.compile(function, **options)):
        given = [
            copy.deepcopy(x.detach()).requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x
            for x in inputs
        ]
        torch.manual_seed(1)
        found = tensors(one(*given))
        loss = [each.float().square().mean() for each in found if each.requires_grad]
        if loss:
            sum(loss).backward()
        answers.append([*found, *(x.grad for x in given if isinstance(x, torch.Tensor) and x.grad is not None)])
    return "; ".join(far(*answers, tolerance))


class Block(nn.Module):
    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.one, self.two = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor, causal: bool = True) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.one(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.two(x))


@case
def resnet() -> str:
    class Residual(nn.Module):
        def __init__(self, a: int, b: int, stride: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
                nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b),
            )  # fmt: skip
            self.skip = nn.Sequential(nn.Conv2d(a, b, 1, stride, bias=False), nn.BatchNorm2d(b))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.relu(self.body(x) + self.skip(x), inplace=True)

    stem = (nn.Conv2d(3, 8, 7, 2, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
    model = nn.Sequential(
        *stem, Residual(8, 8, 1), Residual(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)
    )
    return trained(model.npu(), card(4, 3, 32, 32))


@case
def vit() -> str:
    class Vit(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patch = nn.Conv2d(3, 32, 4, 4)
            self.cls, self.place = nn.Parameter(torch.zeros(1, 1, 32)), nn.Parameter(torch.randn(1, 17, 32) * 0.02)
            self.blocks = nn.ModuleList(Block(32) for _ in range(2))
            self.head = nn.Linear(32, 10)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.patch(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.place
            for block in self.blocks:
                x = block(x, causal=False)
            return self.head(x[:, 0])

    return trained(Vit().npu(), card(3, 3, 16, 16), fullgraph=True)


@case
def gpt_with_loss() -> str:
    class Gpt(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(64, 32), nn.Embedding(24, 32)
            self.blocks = nn.ModuleList(Block(32) for _ in range(2))
            self.norm = nn.LayerNorm(32)

        def forward(self, ids: torch.Tensor) -> Any:
            x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
            for block in self.blocks:
                x = block(x)
            logits = self.norm(x) @ self.words.weight.t()
            return logits, F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())

    return trained(Gpt().npu(), whole(2, 24, high=64))


@case
def llama_static_cache() -> str:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64,
    )  # fmt: skip
    torch.manual_seed(0)
    model = LlamaForCausalLM(config).npu().eval()
    ids = whole(2, 7, high=64)
    options = {"max_new_tokens": 6, "do_sample": False, "cache_implementation": "static", "pad_token_id": 0}
    plain = model.generate(ids, **options)
    model.forward = torch.compile(model.forward)
    return "; ".join(far(plain, model.generate(ids, **options)))


@case
def mixture_of_experts() -> str:
    class Moe(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate = nn.Linear(16, 4, bias=False)
            self.up, self.down = nn.Parameter(torch.randn(4, 16, 32) * 0.2), nn.Parameter(torch.randn(4, 32, 16) * 0.2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
            weights = weights / weights.sum(-1, keepdim=True)
            out = torch.zeros_like(x)
            for expert in range(4):
                rows, slot = torch.where(chosen == expert)
                y = F.silu(x[rows] @ self.up[expert]) @ self.down[expert]
                out = out.index_add(0, rows, y * weights[rows, slot, None])
            return out

    return trained(Moe().npu(), card(20, 16))


@case
def unet() -> str:
    class Unet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, stride=2, padding=1)
            self.norm, self.up = nn.GroupNorm(4, 16), nn.Conv2d(16, 8, 3, padding=1)
            self.time, self.last = nn.Linear(8, 16), nn.Conv2d(16, 3, 1)

        def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
            wave = t[:, None] * torch.exp(-torch.arange(4, device=x.device) / 2)
            first = F.silu(self.a(x))
            deep = F.silu(
                self.norm(self.b(first)) + self.time(torch.cat([wave.sin(), wave.cos()], 1))[:, :, None, None]
            )
            deep = self.up(F.interpolate(deep, scale_factor=2, mode="nearest"))
            return self.last(torch.cat([deep, first], 1))

    return trained(Unet().npu(), card(2, 3, 16, 16), card(2).abs())


@case
def lstm() -> str:
    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.body = nn.Embedding(30, 12), nn.LSTM(12, 16, 2, batch_first=True, bidirectional=True)
            self.head = nn.Linear(32, 5)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.head(self.body(self.words(ids))[0])

    return trained(Tagger().npu(), whole(3, 9, high=30))


@case
def gan_generator() -> str:
    model = nn.Sequential(
        nn.ConvTranspose2d(12, 16, 4, 1, 0, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
        nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False), nn.InstanceNorm2d(8, affine=True), nn.LeakyReLU(0.2),
        nn.ConvTranspose2d(8, 3, 4, 2, 1), nn.Tanh(),
    )  # fmt: skip
    return trained(model.npu(), card(4, 12, 1, 1))


@case
def embedding_bag() -> str:
    class Bags(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bag, self.head = nn.EmbeddingBag(40, 8, mode="mean"), nn.Linear(8, 3)

        def forward(self, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
            return self.head(self.bag(ids, offsets))

    return trained(Bags().npu(), whole(11, high=40), torch.tensor([0, 3, 3, 8]).npu())


@case
def dynamic_shapes() -> str:
    """One graph for all lengths; torch_npu's attention asks for numbers and is not among these."""
    from torch._dynamo.utils import counters

    model = nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32), nn.Softmax(1)).npu()
    counters.clear()
    compiled = torch.compile(model, dynamic=True)
    said = []
    for batch, length in ((2, 5), (3, 9), (4, 17), (7, 3)):
        x = card(batch, length, 32)
        said += far(model(x), compiled(x))
    graphs = counters["stats"]["unique_graphs"]
    return "; ".join([*said, *([f"{graphs} graphs"] if graphs != 1 else [])])


@case
def reduce_overhead() -> str:
    return trained(
        nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.LayerNorm(32), nn.Linear(32, 4)).npu(),
        card(8, 16),
        mode="reduce-overhead",
    )


@case
def optimizer_step() -> str:
    said = []
    for make in (
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True),
        lambda p: torch.optim.AdamW(p, 0.01, foreach=True),
        lambda p: torch.optim.RMSprop(p, 0.01),
        lambda p: torch.optim.Adagrad(p, 0.01),
        lambda p: torch.optim.RAdam(p, 0.01),
    ):
        torch.manual_seed(0)
        models = [nn.Linear(6, 6).npu() for _ in range(2)]
        models[1].load_state_dict(models[0].state_dict())
        both = [make(model.parameters()) for model in models]
        step = torch.compile(both[1].step)
        for _ in range(3):
            x = card(4, 6)
            for model, optimizer, go in zip(models, both, (both[0].step, step)):
                optimizer.zero_grad()
                model(x).square().mean().backward()
                go()
        said += [
            f"{type(both[0]).__name__} {text}"
            for text in far(list(models[0].parameters()), list(models[1].parameters()))
        ]
    return "; ".join(said)


@case
def autocast() -> str:
    said = []
    for dtype in (torch.bfloat16, torch.float16):

        class Cast(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.conv, self.block = nn.Conv1d(4, 32, 3, padding=1), Block(32)

            def forward(self, x: torch.Tensor, dtype: torch.dtype = dtype) -> torch.Tensor:
                with torch.autocast("npu", dtype=dtype):
                    return self.block(self.conv(x).transpose(1, 2))

        said.append(trained(Cast().npu(), card(2, 4, 12), tolerance=3e-2))
    return "; ".join(one for one in said if one)


@case
def autograd_function() -> str:
    class Clipped(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, low: float) -> torch.Tensor:
            ctx.save_for_backward(x)
            ctx.low = low
            return x.clamp(min=low) * 2

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            (x,) = ctx.saved_tensors
            return torch.where(x > ctx.low, grad * 2, grad * 0.1), None

    return called(lambda x: Clipped.apply(x.sin(), 0.1).cos(), card(5, 7, grad=True), fullgraph=True)


@case
def custom_operator() -> str:
    @torch.library.custom_op("jumarmodels::scaled", mutates_args=())
    def scaled(x: torch.Tensor, by: float) -> torch.Tensor:
        return x * by + 1

    @scaled.register_fake
    def _(x: torch.Tensor, by: float) -> torch.Tensor:
        return torch.empty_like(x)

    scaled.register_autograd(
        lambda ctx, grad: (grad * ctx.by, None), setup_context=lambda ctx, inputs, output: setattr(ctx, "by", inputs[1])
    )

    @torch.library.custom_op("jumarmodels::fill", mutates_args={"out"})
    def fill(x: torch.Tensor, out: torch.Tensor) -> None:
        out.copy_(x * 3)

    def run(x: torch.Tensor) -> Any:
        out = torch.empty_like(x)
        fill(x.detach().exp(), out)
        return scaled(x.relu(), 2.5), out + 1

    return called(run, card(4, 9, grad=True), fullgraph=True)


@case
def conditions() -> str:
    def run(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda y: y.sin() * 2, lambda y: y.cos() - 1, (x,)) + 1

    return "; ".join(
        one for one in (called(run, card(4, 6).abs()), called(run, -card(4, 6).abs(), fullgraph=True)) if one
    )


@case
def flex_attention() -> str:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def near(b: Any, h: Any, q: Any, k: Any) -> Any:
        return (q >= k) & (q - k < 40)

    mask = create_block_mask(near, None, None, 128, 128, device="npu")

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + (i - j) * 0.01, block_mask=mask)

    return called(run, *(card(1, 2, 128, 16) for _ in range(3)))


@case
def flex_attention_backward() -> str:
    from torch.nn.attention.flex_attention import flex_attention

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: torch.where(i >= j, s, -float("inf")))

    return called(run, *(card(1, 2, 128, 16, grad=True) for _ in range(3)))


@case
def checkpointing() -> str:
    from torch.utils.checkpoint import checkpoint

    class Saved(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(Block(32) for _ in range(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False)
            return x

    return trained(Saved().npu(), card(2, 9, 32))


@case
def loops_and_maps() -> str:
    from torch._higher_order_ops import associative_scan, while_loop

    def run(x: torch.Tensor) -> Any:
        summed = associative_scan(lambda a, b: a + b, x, dim=0, combine_mode="generic")
        last = while_loop(
            lambda n, y: n < 3, lambda n, y: (n + 1, y * 1.5), (torch.zeros((), dtype=torch.int64, device=x.device), x)
        )
        return summed, last[1], torch.vmap(lambda row: row / row.norm())(x)

    return called(run, card(5, 4))


@case
def functional_transforms() -> str:
    def run(w: torch.Tensor, x: torch.Tensor) -> Any:
        def loss(v: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
            return (v @ row).tanh().sum()

        each = torch.func.vmap(torch.func.grad(loss), (None, 0))(w, x)
        return each, torch.func.jacrev(lambda v: v.sin() @ w)(x[0]), torch.func.jvp(torch.sin, (x,), (x,))

    return called(run, card(4, 4), card(3, 4))


@case
def tensor_subclass_and_hooks() -> str:
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 3))
    model.register_forward_pre_hook(lambda module, given: (given[0] * 2,))
    model[0].register_forward_hook(lambda module, given, out: out.relu())
    nn.utils.parametrizations.weight_norm(model[1])
    return trained(model.npu(), card(5, 8))


@case
def quantised_linear() -> str:
    def run(x: torch.Tensor, w: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return (x @ (w.to(x.dtype) * scale[:, None]).t()).round().clamp(-128, 127).to(torch.int8)

    w = torch.randint(-100, 100, (6, 16), dtype=torch.int8).npu()
    return called(run, card(4, 16), w, card(6).abs())


@case
def sparse_updates() -> str:
    def run(x: torch.Tensor, at: torch.Tensor, more: torch.Tensor) -> Any:
        y = x.clone()
        y[at] = more
        y.index_put_((at,), more, accumulate=True)
        z = y.scatter_add(0, at[:, None].expand(-1, x.shape[1]), more).scatter_reduce(
            0, at[:, None].expand(-1, x.shape[1]), more, "amax"
        )
        return (
            z,
            y.masked_fill(y > 1, 0.5),
            torch.bincount(at, minlength=9),
            torch.searchsorted(x[0].sort()[0], more[0]),
        )

    return called(run, card(9, 5), torch.tensor([1, 4, 7, 2]).npu(), card(4, 5))


@case
def complex_and_fft() -> str:
    def run(x: torch.Tensor) -> Any:
        spectrum = torch.fft.rfft(x)
        turned = torch.view_as_complex(torch.stack([x, x.cos()], -1))
        return torch.fft.irfft(spectrum * 2), (turned * turned.conj()).real, spectrum.abs()

    return called(run, card(3, 16))


@case
def graph_breaks_and_numpy() -> str:
    def run(x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        if y.sum().item() > 0:
            y = y + 1
        print(end="")
        pieces = [one * place for place, one in enumerate(y.split(2))]
        return torch.cat(pieces) + float(len(pieces))

    return called(run, card(7, 3))


def main(names: list[str]) -> int:
    bad = 0
    for name, make in CASES.items():
        if names and name not in names:
            continue
        torch._dynamo.reset()
        torch.manual_seed(0)
        start = time.monotonic()
        try:
            said = make()
        except Exception as error:
            said = f"{type(error).__name__}: {str(error).strip()[:400]}"
            if os.environ.get("TRACE"):
                traceback.print_exc()
        bad += bool(said)
        print(f"{name}: {said or 'equal'} ({time.monotonic() - start:.0f} s)", flush=True)
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
