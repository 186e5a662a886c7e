"""Small models trained for some steps: losses and weights, in float32 and mixed precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jumar.selftest.case import FLOAT, Case

if TYPE_CHECKING:
    from jumar.selftest.given import Given

STEPS = 5


def _network(g: Given, kind: str) -> tuple[Any, Any, Any]:
    """A model with its inputs and labels."""
    nn = g.torch.nn
    if kind == "perceptron":
        return _sequence(g, nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 6)), g.normal(16, 20), _labels(g, 16, 6)
    if kind == "pictures":
        layers = (nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 12, 3),
                  nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 5))  # fmt: skip
        return _sequence(g, *layers), g.normal(8, 3, 12, 12), _labels(g, 8, 5)
    if kind == "sequences":
        model = _sequence(g, nn.Embedding(20, 16), nn.LSTM(16, 12, batch_first=True), _last(g), nn.Linear(12, 5))
        return model, g.whole(6, 9, low=0, high=20, dtype=g.torch.int64), _labels(g, 6, 5)
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
    model = _sequence(g, nn.Embedding(40, 32), layer, nn.Linear(32, 40), nn.Flatten(0, 1))
    return model, g.whole(4, 12, low=0, high=40, dtype=g.torch.int64), _labels(g, 48, 40)


def _last(g: Given) -> Any:
    """The last output of a recurrent layer."""

    class Last(g.torch.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, found: Any) -> Any:
            return found[0][:, -1]

    return Last()


def _sequence(g: Given, *layers: Any) -> Any:
    for place, layer in enumerate(layers):
        for part in layer.modules():
            if hasattr(part, "reset_parameters"):
                g.torch.manual_seed(place)
                part.reset_parameters()
    return g.module(lambda: g.torch.nn.Sequential(*layers))


def _labels(g: Given, count: int, kinds: int) -> Any:
    return g.whole(count, low=0, high=kinds, dtype=g.torch.int64)


def _trained(kind: str, optimizer: str, **options: Any) -> Any:
    def run(g: Given) -> Any:
        model, inputs, labels = _network(g, kind)
        chosen = getattr(g.torch.optim, optimizer)(model.parameters(), **options)
        losses = []
        for _ in range(STEPS):
            chosen.zero_grad()
            loss = g.torch.nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            g.torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            chosen.step()
            losses.append(loss.detach())
        return {"losses": g.torch.stack(losses), "last-weight": list(model.parameters())[-1].detach()}

    return run


def _mixed(g: Given) -> Any:
    """Autocast and loss scaling, as the guides' training scripts have them."""
    model, inputs, labels = _network(g, "pictures")
    scaler = g.npu.npu.amp.GradScaler(init_scale=1024.0)
    optimizer = g.torch.optim.SGD(model.parameters(), lr=0.05)
    losses, made = [], ""
    for _ in range(STEPS):
        optimizer.zero_grad()
        with g.npu.npu.amp.autocast():
            out = model(inputs)
            loss = g.torch.nn.functional.cross_entropy(out.float(), labels)
        made = str(out.dtype)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.detach())
    return {"losses": g.torch.stack(losses), "autocast": made, "scale": float(scaler.get_scale())}


CASES = [
    Case("perceptron-sgd", _trained("perceptron", "SGD", lr=0.1, momentum=0.9), FLOAT, seconds=120),
    Case("perceptron-adam", _trained("perceptron", "Adam", lr=1e-2), FLOAT, seconds=120),
    Case("pictures-sgd", _trained("pictures", "SGD", lr=0.1, momentum=0.9), FLOAT, seconds=180),
    Case("words-adamw", _trained("words", "AdamW", lr=3e-3), FLOAT, seconds=180),
    Case("sequences-adam", _trained("sequences", "Adam", lr=1e-2), FLOAT, seconds=180),
    Case("pictures-rmsprop", _trained("pictures", "RMSprop", lr=1e-3), FLOAT, seconds=180),
    Case("mixed-precision", _mixed, FLOAT, reference=False, seconds=180, rounding="float16"),
]
