"""Functions of many families, compiled for a card and compared with themselves, uncompiled.

Usage: compile_families.py [first|second] [NAME…]; prints one line for each and ends with 1 if one differs. The two
halves were chosen before the first run: the first was looked at while the code generator was made, the second was not.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401
from torch import nn

FIRST: dict[str, Callable[[], tuple[Any, ...]]] = {}
SECOND: dict[str, Callable[[], tuple[Any, ...]]] = {}
"""Each returns a function, its arguments and, maybe, options of `torch.compile`."""


def first(make: Any) -> Any:
    FIRST[make.__name__] = make
    return make


def second(make: Any) -> Any:
    SECOND[make.__name__] = make
    return make


def card(*shape: int, dtype: torch.dtype = torch.float32, grad: bool = False) -> torch.Tensor:
    return torch.randn(*shape).to(dtype).npu().requires_grad_(grad)


def whole(*shape: int, high: int = 10) -> torch.Tensor:
    return torch.randint(0, high, shape).npu()


@first
def pointwise_chain() -> tuple[Any, ...]:
    return lambda x, y: (torch.sin(x) * y.sigmoid() + x.abs().sqrt()).tanh() / 3, (card(5, 33), card(33))


@second
def pointwise_types() -> tuple[Any, ...]:
    def run(x: Any, y: Any, z: Any) -> Any:
        return x + y, x * 2 > z, (y.float() ** 2).to(torch.bfloat16), z // 3, torch.erf(y.float()) - z

    return run, (card(4, 17, dtype=torch.bfloat16), card(4, 17, dtype=torch.float16), whole(4, 17))


@first
def truth_values() -> tuple[Any, ...]:
    """Compared in every width, over whole vectors and the rest behind them, across rows and along them."""
    widths = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int8)

    def run(x: Any) -> Any:
        wide = [x.to(one) > 0 for one in widths]
        return *wide, wide[0] & ~wide[4], torch.ones_like(x).bool().triu(1), wide[0].t().contiguous(), wide[1].any(1)

    return run, (card(67, 83) * 3,)


@first
def reductions() -> tuple[Any, ...]:
    def run(x: Any) -> Any:
        return x.sum(0), x.mean((1, 2)), x.amax(-1), x.argmax(1), x.var(2), x.std(), (x > 0).any(0), x.prod(1)

    return run, (card(6, 9, 11),)


@first
def norm_of_turned() -> tuple[Any, ...]:
    """A reduction over a tensor that lies in memory the other way round: tiles, in half precision too.

    Inductor keeps what two operators share in float32 unless it is asked to round as they do.
    """

    def run(x: Any, w: Any) -> Any:
        turned = x.flatten(2).transpose(1, 2)
        low = turned.to(torch.bfloat16)
        return F.layer_norm(turned, (32,), w), F.layer_norm(low, (32,)).float(), (turned > 0).any(-1)

    return run, (card(3, 32, 4, 4, grad=True), card(32, grad=True)), {"options": {"emulate_precision_casts": True}}


@second
def reductions_of_views() -> tuple[Any, ...]:
    def run(x: Any) -> Any:
        y = x.permute(2, 0, 1)
        return y.argmin(), y.argmax(0), y.logsumexp(1), torch.norm(y, dim=2), y.min(1), torch.aminmax(y, dim=0)

    return run, (card(7, 8, 5),)


@first
def softmax_and_loss() -> tuple[Any, ...]:
    return lambda x, y: (F.softmax(x, -1), F.cross_entropy(x, y)), (card(12, 31, grad=True), whole(12))


@second
def losses() -> tuple[Any, ...]:
    def run(x: Any, y: Any) -> Any:
        return (
            F.mse_loss(x, y),
            F.smooth_l1_loss(x, y),
            F.binary_cross_entropy_with_logits(x, y.sigmoid()),
            F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction="batchmean"),
        )

    return run, (card(9, 14, grad=True), card(9, 14))


@first
def layer_norm() -> tuple[Any, ...]:
    layer = nn.LayerNorm(48).npu()
    return lambda x: F.gelu(layer(x)), (card(5, 7, 48, grad=True),)


@second
def group_and_rms_norm() -> tuple[Any, ...]:
    layer, weight = nn.GroupNorm(4, 16).npu(), card(10, grad=True)
    return lambda x: F.rms_norm(layer(x), (10,), weight), (card(2, 16, 6, 10, grad=True),)


@first
def views() -> tuple[Any, ...]:
    def run(x: Any) -> Any:
        y = x.transpose(0, 1).reshape(8, -1)[1::2, 3:]
        return y + 1, x.expand(3, *x.shape).contiguous(), x.unfold(1, 3, 2) * 2, x.flip(0)

    return run, (card(6, 8),)


@second
def views_out() -> tuple[Any, ...]:
    def run(x: Any) -> Any:
        return x[:, ::2], x.view(-1).as_strided((3, 4), (4, 1)) - 1, x.roll(2, 1), x.squeeze(0).unsqueeze(2).diff(dim=1)

    return run, (card(4, 6),)


@first
def in_place() -> tuple[Any, ...]:
    def run(x: Any, y: Any) -> Any:
        x.add_(y).mul_(2)
        y[1:3] = 0
        return x.sum() + y.relu_()

    return run, (card(5, 6), card(5, 6))


@second
def in_place_parts() -> tuple[Any, ...]:
    def run(x: Any, mask: Any) -> Any:
        x.masked_fill_(mask, -1)
        x[:, 0].copy_(x[:, 1])
        x.t()[2].sub_(3)
        return x.clone().zero_() + x

    return run, (card(5, 6), card(5, 6) > 0)


@first
def indexing() -> tuple[Any, ...]:
    def run(x: Any, at: Any) -> Any:
        return x[at], x.gather(0, at[:, None].expand(-1, 8)), x.index_select(1, at), F.embedding(at, x)

    return run, (card(10, 10, grad=True), whole(8))


@second
def writing_at_indices() -> tuple[Any, ...]:
    def run(x: Any, at: Any, y: Any) -> Any:
        return (
            x.scatter(0, at, y), x.scatter_add(0, at, y), x.index_add(0, at[:, 0], y),
            x.index_put((at[:, 0],), y, accumulate=True), x.scatter_reduce(0, at, y, "amax"),
        )  # fmt: skip

    return run, (card(10, 6), whole(8, 6), card(8, 6))


@first
def cat_and_split() -> tuple[Any, ...]:
    def run(x: Any, y: Any) -> Any:
        a, b, c = torch.cat([x, y * 2, x], 1).chunk(3, 1)
        return torch.stack([a, b]) + 1, c.split([2, 3], 0)

    return run, (card(5, 6), card(5, 6))


@second
def padded_and_repeated() -> tuple[Any, ...]:
    def run(x: Any) -> Any:
        return (
            F.pad(x, (1, 2), value=3.0), F.pad(x, (1, 1, 1, 1), mode="reflect"), x.repeat(2, 1, 3),
            x.repeat_interleave(2, 0), torch.tril(x[0]), torch.meshgrid(x[0, 0], x[0, 1], indexing="ij"),
        )  # fmt: skip

    return run, (card(3, 5, 6),)


@first
def convolution() -> tuple[Any, ...]:
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)).npu()
    return net, (card(4, 3, 12, 12, grad=True),)


@second
def pooling_and_upsampling() -> tuple[Any, ...]:
    up = nn.ConvTranspose2d(4, 6, 3, stride=2).npu()

    def run(x: Any) -> Any:
        y = F.silu(up(x))
        return F.avg_pool2d(y, 3), F.adaptive_avg_pool2d(y, 2), F.interpolate(x, scale_factor=2, mode="bilinear")

    return run, (card(2, 4, 7, 7, grad=True),)


@first
def products() -> tuple[Any, ...]:
    def run(x: Any, y: Any, b: Any) -> Any:
        return torch.addmm(b, x, y).relu(), torch.einsum("ij,jk->ki", x, y) * 2, x @ y[:, 0], F.linear(x, y.t(), b)

    return run, (card(6, 8, grad=True), card(8, 5, grad=True), card(5, grad=True))


@second
def batched_products() -> tuple[Any, ...]:
    def run(x: Any, y: Any) -> Any:
        return (
            torch.bmm(x, y).softmax(-1),
            torch.baddbmm(x @ y, x, y, beta=0.5),
            (x.mT @ x).cos(),
            torch.outer(x[0, 0], y[0, 0]),
        )

    return run, (card(3, 6, 8, grad=True), card(3, 8, 5, grad=True))


@first
def attention() -> tuple[Any, ...]:
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True) * 2, tuple(
        card(2, 4, 10, 16, grad=True) for _ in range(3)
    )


@second
def masked_attention() -> tuple[Any, ...]:
    layer = nn.MultiheadAttention(16, 4, batch_first=True).npu()

    def run(x: Any, mask: Any) -> Any:
        return layer(x, x, x, attn_mask=mask, need_weights=False)[0].relu()

    return run, (card(2, 9, 16, grad=True), torch.triu(torch.ones(9, 9), 1).bool().npu())


@first
def scans() -> tuple[Any, ...]:
    return lambda x: (x.cumsum(1) * 2, x.cumprod(0), x.logcumsumexp(1)), (card(5, 12),)


@second
def sorted_values() -> tuple[Any, ...]:
    def run(x: Any) -> Any:
        return x.sort(1, descending=True), x.topk(3), x.median(1), x.argsort(0), x.kthvalue(2), x.cummax(1)

    return run, (card(5, 12),)


@first
def choices() -> tuple[Any, ...]:
    def run(x: Any, y: Any) -> Any:
        return torch.where(x > y, x, y * 2), x.clamp(-0.5, 0.5), x.isnan() | (y < 0), torch.nan_to_num(x / 0)

    return run, (card(6, 7), card(6, 7))


@second
def whole_numbers() -> tuple[Any, ...]:
    def run(x: Any, y: Any) -> Any:
        return x & y, x ^ 3, x << 1, x % (y + 1), torch.bitwise_not(x), x.sum(0), (x.to(torch.int8) * 3), x == y

    return run, (whole(6, 7), whole(6, 7))


@first
def graph_breaks() -> tuple[Any, ...]:
    def run(x: Any) -> Any:
        y = x.sin()
        torch._dynamo.graph_break()
        return (y * 2 if y.sum().item() > -1e9 else y).cos()

    return run, (card(5, 6, grad=True),)


@second
def data_dependent() -> tuple[Any, ...]:
    def run(x: Any) -> Any:
        found = x[x > 0]
        return found.sum() * 2, torch.nonzero(x > 0).float().mean(), (x > 0).sum() + 1

    return run, (card(5, 6),)


@first
def dynamic_batch() -> tuple[Any, ...]:
    layer = nn.Linear(8, 4).npu()

    def run(x: Any) -> Any:
        return layer(x).softmax(-1).sum(0)

    compiled, batches = torch.compile(run, dynamic=True), card(24, 8).split([3, 5, 7, 9])
    return lambda: [compiled(x) for x in batches], (), {"expect": lambda: [run(x) for x in batches]}


@second
def dynamic_sequence() -> tuple[Any, ...]:
    layer = nn.Embedding(20, 8).npu()

    def run(at: Any) -> Any:
        x = layer(at)
        return (x @ x.mT).masked_fill(torch.ones(at.shape[1], at.shape[1], device=at.device).triu(1).bool(), -1).mean(2)

    compiled = torch.compile(run, dynamic=True)
    batches = [whole(2, length) for length in (3, 6, 11, 17)]
    return lambda: [compiled(at) for at in batches], (), {"expect": lambda: [run(at) for at in batches]}


@first
def whole_graph() -> tuple[Any, ...]:
    return (
        lambda x: torch.cond(x.shape[0] > 2, lambda y: y.sin() + 1, lambda y: y.cos(), (x,)),
        (card(5, 6),),
        {"fullgraph": True},
    )


@second
def checkpointed() -> tuple[Any, ...]:
    from torch.utils.checkpoint import checkpoint

    layer = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 6)).npu()
    return lambda x: checkpoint(layer, x, use_reentrant=False).exp(), (card(5, 6, grad=True),), {"fullgraph": True}


@first
def recurrent() -> tuple[Any, ...]:
    layer = nn.GRUCell(5, 7).npu()

    def run(x: Any, h: Any) -> Any:
        for step in x:
            h = layer(step, h)
        return h

    return run, (card(3, 2, 5, grad=True), card(2, 7))


@second
def long_short_term() -> tuple[Any, ...]:
    layer = nn.LSTM(5, 7, batch_first=True).npu()
    return lambda x: layer(x)[0].tanh(), (card(2, 4, 5, grad=True),)


@first
def complex_numbers() -> tuple[Any, ...]:
    return lambda x: torch.fft.rfft(x.cos()).abs() + 1, (card(4, 16),)


@second
def linear_algebra() -> tuple[Any, ...]:
    def run(x: Any) -> Any:
        y = x @ x.mT + 10 * torch.eye(5, device=x.device)
        return torch.linalg.inv(y) * 2, torch.linalg.cholesky(y).sum(), torch.linalg.vector_norm(x, dim=0)

    return run, (card(5, 6),)


@first
def other_devices() -> tuple[Any, ...]:
    return lambda x, y: (x.npu() + y).cpu().sum(1) * 2, (torch.randn(4, 5), card(4, 5))


@second
def made_inside() -> tuple[Any, ...]:
    def run(x: Any) -> Any:
        y = torch.arange(x.shape[1], device=x.device, dtype=torch.float32)
        return (
            x * y + torch.full((x.shape[1],), 0.5, device="npu"),
            torch.linspace(0, 1, 6, device="npu") + x,
            (torch.tensor(2.0) * x),
        )

    return run, (card(4, 6),)


@first
def custom_function() -> tuple[Any, ...]:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * x * grad

    return lambda x: Square.apply(x).sin(), (card(4, 6, grad=True),)


@second
def mixed_precision() -> tuple[Any, ...]:
    layer = nn.Linear(6, 9).npu()

    def run(x: Any) -> Any:
        with torch.autocast("npu", dtype=torch.bfloat16):
            return layer(x).float().softmax(-1)

    return run, (card(4, 6, grad=True),)


@first
def fused_npu_operators() -> tuple[Any, ...]:
    import torch_npu as npu

    return lambda x, w: (npu.npu_rms_norm(x * 2, w)[0].relu(), npu.npu_swiglu(x) + 1), (card(4, 8), card(8))


@second
def vmap_and_grad() -> tuple[Any, ...]:
    def run(x: Any) -> Any:
        return torch.func.vmap(torch.func.grad(lambda row: (row.sin() * row).sum()))(x) + 1

    return run, (card(4, 6),)


def flat(found: Any) -> list[torch.Tensor]:
    return [one for one in torch.utils._pytree.tree_leaves(found) if isinstance(one, torch.Tensor)]


def gradients(found: list[torch.Tensor], given: list[torch.Tensor]) -> list[torch.Tensor]:
    wanted = [one for one in given if one.requires_grad]
    loss = sum((one.float() * 0.5).sum() for one in found if one.requires_grad)
    if not wanted or not isinstance(loss, torch.Tensor):
        return []
    return [one for one in torch.autograd.grad(loss, wanted, allow_unused=True) if one is not None]


def results(function: Any, given: tuple[Any, ...]) -> list[torch.Tensor]:
    """What it returns, what it wrote to its arguments, and gradients."""
    torch.manual_seed(3)
    copies = [one.detach().clone().requires_grad_(one.requires_grad) for one in given]
    found = flat(function(*copies))
    return found + [one.detach() for one in copies] + gradients(found, copies)


def close(one: torch.Tensor, other: torch.Tensor) -> bool:
    low = one.dtype in (torch.bfloat16, torch.float16)
    same = one.dtype == other.dtype and one.device == other.device and one.shape == other.shape
    return same and torch.allclose(
        one.cpu().double() if one.is_floating_point() else one.cpu(),
        other.cpu().double() if other.is_floating_point() else other.cpu(),
        rtol=2e-2 if low else 1e-4, atol=2e-2 if low else 1e-5, equal_nan=True,
    )  # fmt: skip


def judge(make: Callable[[], tuple[Any, ...]]) -> str:
    torch.manual_seed(1)
    torch._dynamo.reset()
    function, given, *more = make()
    options = dict(more[0]) if more else {}
    plain = options.pop("expect", function)
    expected, found = results(plain, given), results(torch.compile(function, **options), given)
    if len(expected) != len(found):
        return f"{len(found)} results instead of {len(expected)}"
    wrong = [str(at) for at, pair in enumerate(zip(expected, found)) if not close(*pair)]
    return f"results {', '.join(wrong)} of {len(found)} differ" if wrong else ""


def main() -> int:
    halves, names = {"first": FIRST, "second": SECOND}, sys.argv[2:]
    cases = halves[sys.argv[1]] if len(sys.argv) > 1 else {**FIRST, **SECOND}
    failed = 0
    for name, make in cases.items():
        if names and name not in names:
            continue
        begin = time.monotonic()
        try:
            wrong = judge(make)
        except Exception as error:
            traceback.print_exc()
            wrong = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        failed += bool(wrong)
        print(f"{name}: {wrong or 'equal'} ({time.monotonic() - begin:.1f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
