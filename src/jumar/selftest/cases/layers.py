"""Activations, normalisations, losses and embeddings, with gradients where training needs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jumar.selftest.case import HALVES, rows

if TYPE_CHECKING:
    from jumar.selftest.given import Given

Layer = Callable[[Any, Any], Any]


def _both(layer: Layer, *shape: int) -> Callable[[Given], Any]:
    """The result and the gradient of a function of one tensor."""

    def run(g: Given) -> Any:
        x = g.learnt(*shape)
        out = layer(g.torch.nn.functional, x)
        out.backward(g.normal(*out.shape))
        return {"out": out, "gradient": x.grad}

    return run


def _layer_norm(g: Given) -> Any:
    x, weight, bias = g.learnt(12, 60), g.learnt(60), g.learnt(60)
    out = g.torch.nn.functional.layer_norm(x, (60,), weight, bias)
    out.backward(g.normal(12, 60))
    return {"out": out, "x": x.grad, "weight": weight.grad, "bias": bias.grad}


def _batch_norm(g: Given) -> Any:
    x, mean, variance = g.learnt(6, 5, 9), g.normal(5) * 0, g.normal(5) * 0 + 1
    out = g.torch.nn.functional.batch_norm(x, mean, variance, g.normal(5), g.normal(5), training=True)
    out.backward(g.normal(6, 5, 9))
    return {"out": out, "x": x.grad, "mean": mean, "variance": variance}


def _embedding(g: Given) -> Any:
    weight = g.learnt(30, 12)
    out = g.torch.nn.functional.embedding(g.whole(5, 8, low=0, high=30, dtype=g.torch.int64), weight)
    out.backward(g.normal(5, 8, 12))
    return {"out": out, "gradient": weight.grad}


def _loss(name: str) -> Callable[[Given], Any]:
    def run(g: Given) -> Any:
        x = g.learnt(24, 9)
        labels = g.whole(24, low=0, high=9, dtype=g.torch.int64)
        loss = g.torch.nn.functional.cross_entropy(x, labels, label_smoothing=0.1) if name == "cross" else (
            getattr(g.torch.nn.functional, name)(x, g.normal(24, 9)))  # fmt: skip
        loss.backward()
        return {"loss": loss, "gradient": x.grad}

    return run


def _prelu(g: Given) -> Any:
    x, weight = g.learnt(12, 5), g.learnt(5)
    out = g.torch.nn.functional.prelu(x, weight)
    out.backward(g.normal(12, 5))
    return {"out": out, "x": x.grad, "weight": weight.grad}


def _cosine(g: Given) -> Any:
    return g.torch.nn.functional.cosine_similarity(g.normal(12, 30), g.normal(12, 30))


def _binary(g: Given) -> Any:
    x = g.learnt(24, 9)
    loss = g.torch.nn.functional.binary_cross_entropy_with_logits(x, g.uniform(24, 9))
    loss.backward()
    return {"loss": loss, "gradient": x.grad}


def _kl_div(g: Given) -> Any:
    x = g.learnt(24, 9)
    f = g.torch.nn.functional
    loss = f.kl_div(f.log_softmax(x, -1), f.softmax(g.normal(24, 9), -1), reduction="batchmean")
    loss.backward()
    return {"loss": loss, "gradient": x.grad}


def _attention(g: Given) -> Any:
    q, k, v = (g.learnt(2, 4, 24, 16) for _ in range(3))
    out = g.torch.nn.functional.scaled_dot_product_attention(q, k, v)
    out.backward(g.normal(2, 4, 24, 16))
    return {"out": out, "q": q.grad, "k": k.grad, "v": v.grad}


def _causal(g: Given) -> Any:
    q, k, v = (g.normal(2, 4, 24, 16) for _ in range(3))
    return g.torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


CASES = rows(
    {
        "relu": _both(lambda f, x: f.relu(x), 20, 30),
        "leaky-relu": _both(lambda f, x: f.leaky_relu(x, 0.1), 20, 30),
        "gelu": _both(lambda f, x: f.gelu(x), 20, 30),
        "gelu-tanh": _both(lambda f, x: f.gelu(x, approximate="tanh"), 20, 30),
        "silu": _both(lambda f, x: f.silu(x), 20, 30),
        "elu": _both(lambda f, x: f.elu(x), 20, 30),
        "softplus": _both(lambda f, x: f.softplus(x), 20, 30),
        "hardswish": _both(lambda f, x: f.hardswish(x), 20, 30),
        "hardtanh": _both(lambda f, x: f.hardtanh(x), 20, 30),
        "sigmoid-gradient": _both(lambda f, x: x.sigmoid(), 20, 30),
        "tanh-gradient": _both(lambda f, x: x.tanh(), 20, 30),
        "mish": _both(lambda f, x: f.mish(x), 20, 30),
        "selu": _both(lambda f, x: f.selu(x), 20, 30),
        "celu": _both(lambda f, x: f.celu(x, 0.7), 20, 30),
        "glu": _both(lambda f, x: f.glu(x), 20, 30),
        "log-sigmoid": _both(lambda f, x: f.logsigmoid(x), 20, 30),
        "hardsigmoid": _both(lambda f, x: f.hardsigmoid(x), 20, 30),
        "normalized": _both(lambda f, x: f.normalize(x, dim=-1), 20, 30),
        "instance-norm": _both(lambda f, x: f.instance_norm(x), 3, 8, 10),
        "prelu": _prelu,
        "cosine-similarity": _cosine,
        "softmax": _both(lambda f, x: f.softmax(x, -1), 20, 30),
        "log-softmax": _both(lambda f, x: f.log_softmax(x, -1), 20, 30),
        "group-norm": _both(lambda f, x: f.group_norm(x, 4), 3, 8, 10),
        "layer-norm": _layer_norm,
        "batch-norm": _batch_norm,
        "embedding": _embedding,
        "cross-entropy": _loss("cross"),
        "mse-loss": _loss("mse_loss"),
        "l1-loss": _loss("l1_loss"),
        "smooth-l1-loss": _loss("smooth_l1_loss"),
        "huber-loss": _loss("huber_loss"),
        "binary-cross-entropy": _binary,
        "kl-div": _kl_div,
        "attention": _attention,
        "attention-causal": _causal,
    },
    types=HALVES,
)
