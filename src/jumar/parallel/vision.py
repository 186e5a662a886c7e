"""Tapes of a vision transformer: the patches of a picture are its tokens; the blocks are those of any transformer."""

from __future__ import annotations

from jumar.parallel import transformer
from jumar.parallel.architecture import BYTES, Architecture, Picture
from jumar.parallel.tape import SEQUENCE, WHOLE, Layer, Tape


def parts(net: Architecture) -> tuple[Layer, ...]:
    """Patches, blocks, and norm with classifier and loss."""
    assert net.picture
    blocks = Layer("block", transformer.block(net), net.layers)
    return (Layer("start", _start(net, net.picture)), blocks, Layer("end", _end(net, net.picture)))


def _start(net: Architecture, picture: Picture) -> Tape:
    """A convolution makes the tokens. Nobody asks for the gradient of the picture: it is no input of an operator."""
    tape, c = Tape(), BYTES[net.computed]
    tape.value(0)
    pixels = picture.bytes // transformer.FLOAT
    kept = () if c == transformer.FLOAT else (tape.op("cast", (), pixels * c),)
    inner, size = picture.channels * picture.patch**2, picture.patches * net.hidden * c
    kernel = tape.weight("patches", inner * net.hidden, kept=False)
    flops = 2 * picture.patches * inner * net.hidden
    y = tape.op("conv", (), size, keeps=kept, weights=(kernel,), flops=flops)
    if net.framework == "mindspore":
        y = tape.op("transpose", (y,), size)
    y = tape.op("add", (y,), size, weights=(tape.weight("patches.bias", net.hidden, kept=False),))
    size = net.seq * net.hidden * c
    if picture.class_token:
        y = tape.op("concat", (y,), size, weights=(tape.weight("token", net.hidden, kept=False),))
    places = tape.weight("places", net.seq * net.hidden, kept=False)
    y = tape.op("add", (y,), size, weights=(places,), wide=True)
    tape.op("reshape", (y,), size, view=True)
    return tape


def _end(net: Architecture, picture: Picture) -> Tape:
    tape, c = Tape(), BYTES[net.computed]
    x = tape.value(net.seq * net.hidden * c, SEQUENCE, wide=True)
    y = transformer.norm(tape, net, x, "norm")
    y = tape.op("slice" if picture.class_token else "mean", (y,), net.hidden * c)
    y = transformer.linear(tape, net, y, "head", net.hidden, net.vocab, "", rows=1)
    return transformer.loss(tape, net, y, 1, WHOLE)
