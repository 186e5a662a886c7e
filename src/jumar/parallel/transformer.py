"""Tapes of a transformer and of a plain stack of layers, operator by operator as the generated network has them."""

from __future__ import annotations

from dataclasses import replace

from jumar.parallel.architecture import BYTES, Architecture, Latent
from jumar.parallel.tape import AUTOCAST, DENSE, JOINED, SEQUENCE, TENSOR, WHOLE, Layer, Tape

FLOAT = 4
MASK = 2048 * 2048
"""Bytes of the causal mask that torch_npu makes for each call of the fused attention; MindSpore's network has one."""
FLASH_STATISTICS = 8
"""The fused attention keeps a maximum and a sum of 8 floats for each row of the scores."""


def parts(net: Architecture) -> tuple[Layer, ...]:
    """Embedding, blocks, and norm with head and loss; blocks without experts come before those with them."""
    dense = replace(net, experts=0, inner=net.dense_inner or net.inner)
    before = (Layer(DENSE, block(dense), net.dense_layers),) if net.dense_layers else ()
    blocks = Layer("block", block(net), net.layers - net.dense_layers)
    return (Layer("start", _start(net)), *before, blocks, Layer("end", _end(net)))


def stack(net: Architecture) -> tuple[Layer, ...]:
    """Blocks of two products, and the mean of squares."""
    tape = Tape()
    x = tape.value(net.hidden * BYTES[net.computed])
    _feed_forward(tape, net, x)
    return (Layer("block", tape, net.layers), Layer("end", _squares(net)))


def _squares(net: Architecture) -> Tape:
    tape, size = Tape(), net.hidden * BYTES[net.computed]
    x = tape.value(size)
    tape.op("square", (x,), size, keeps=(x,), extra=size)
    tape.op("mean", (tape.out,), 0, extra=size)
    return tape


def _start(net: Architecture) -> Tape:
    tape = Tape()
    tape.value(0)
    table = tape.weight("table", net.vocab * net.hidden, split=True, kept=False, cast=False)
    size = net.seq * net.hidden
    ids = tape.value(net.seq * 4)
    x = tape.op("gather", (ids,), size * FLOAT, keeps=(ids,), weights=(table,))
    tape.reduced.append(x)
    if net.position == "learned":
        places = tape.weight("places", net.seq * net.hidden, kept=False, cast=False)
        x = tape.op("add", (x,), size * FLOAT, weights=(places,))
    if BYTES[net.computed] != FLOAT:
        tape.late = size * FLOAT if net.framework == "mindspore" else 0
        x = tape.op("cast", (x,), size * BYTES[net.computed], SEQUENCE)
    tape.op("reshape", (x,), tape.values[x].size, tape.values[x].split, view=True)
    return tape


def linear(
    tape: Tape, net: Architecture, x: int, name: str, inner: int, outer: int, way: str, *, rows: int | None = None
) -> int:
    """A product; `way` is "out" for columns on the cards, "in" for rows, "" for the whole weight everywhere."""
    rows = net.seq if rows is None else rows
    size = rows * outer * BYTES[net.computed]
    split = TENSOR if way == "out" else SEQUENCE if way == "in" else WHOLE
    weight = tape.weight(name, inner * outer, split=bool(way))
    x = _narrowed(tape, net, x)
    y = tape.op("matmul", (x,), size, split, keeps=(x,), weights=(weight,), flops=2 * rows * inner * outer)
    if way == "in":
        tape.reduced.append(y)
    if net.bias:
        bias = tape.weight(f"{name}.bias", outer, split=way == "out", kept=False)
        y = tape.op("add", (y,), size, split, weights=(bias,))
    return y


def _joined(tape: Tape, net: Architecture, x: int) -> int:
    """What PyTorch's products read of a value that sequence parallel has divided."""
    value = tape.values[x]
    return tape.op(JOINED, (x,), value.size, wide=value.wide) if net.framework == "torch" else x


def _narrowed(tape: Tape, net: Architecture, x: int) -> int:
    """What a product reads of a value that PyTorch's autocast has left in float32."""
    value = tape.values[x]
    return tape.op(AUTOCAST, (x,), value.size, value.split) if net.framework == "torch" and value.wide else x


def norm(tape: Tape, net: Architecture, x: int, name: str, width: int = 0, split: str = SEQUENCE) -> int:
    width = width or net.hidden
    size = net.seq * width * BYTES[net.computed]
    weights = [tape.weight(f"{name}.gamma", width)]
    if net.norm != "rms":
        weights.append(tape.weight(f"{name}.beta", width, kept=False))
    statistics = tape.op("statistics", (), net.seq * FLOAT * (1 if net.norm == "rms" else 2), split, own=True)
    # PyTorch makes an RMS norm of single operators: the product with the weight keeps what it reads.
    own = net.framework == "torch" and net.norm == "rms"
    return tape.op("norm", (x,), size, split, keeps=(x, statistics), weights=tuple(weights), wide=True, own=own)


def block(net: Architecture) -> Tape:
    tape = Tape()
    size = net.seq * net.hidden * BYTES[net.computed]
    x = tape.value(size, SEQUENCE, wide=True)
    normed = _joined(tape, net, norm(tape, net, x, "norm1"))
    y = _latent(tape, net, normed, net.latent) if net.latent else _attention(tape, net, normed)
    x = tape.op("add", (x, y), size, SEQUENCE, wide=True)
    normed = _joined(tape, net, norm(tape, net, x, "norm2"))
    y = _experts(tape, net, normed) if net.experts else _feed_forward(tape, net, normed)
    if net.experts and net.shared_inner:
        shared = _feed_forward(tape, replace(net, inner=net.shared_inner), normed, "shared.")
        y = tape.op("add", (y, shared), size, SEQUENCE)
    tape.op("add", (x, y), size, SEQUENCE, wide=True)
    return tape


def _attention(tape: Tape, net: Architecture, x: int) -> int:
    c, s = BYTES[net.computed], net.seq
    queries, groups = net.heads * net.head_dim, net.kv_heads * net.head_dim
    made = []
    for name, width in (("q", queries), ("k", groups), ("v", groups)):
        y = linear(tape, net, x, name, net.hidden, width, "out")
        made.append(tape.op("transpose", (y,), s * width * c, TENSOR))
    q, k, v = made
    if net.position == "rope":
        q, k = _rotate(tape, q, s * queries * c), _rotate(tape, k, s * groups * c)
    if net.heads != net.kv_heads and net.framework == "mindspore":
        k, v = (tape.op("tile", (y,), s * queries * c, TENSOR) for y in (k, v))
    tape.passed += 2 * s * groups * c
    if net.attention == "flash":
        y = _flash(tape, net, q, k, v)
    else:
        y = _plain(tape, net, q, k, v)
    y = tape.op("transpose", (y,), s * queries * c, TENSOR)
    return linear(tape, net, y, "o", queries, net.hidden, "in")


def _latent(tape: Tape, net: Architecture, x: int, latent: Latent) -> int:
    """Queries, keys and values from narrow vectors that every tensor-parallel card has whole."""
    c, s, heads = BYTES[net.computed], net.seq, net.heads
    narrow = x
    if latent.query_rank:
        narrow = linear(tape, net, x, "q.narrow", net.hidden, latent.query_rank, "")
        narrow = norm(tape, net, narrow, "q.norm", latent.query_rank, WHOLE)
    q = linear(tape, net, narrow, "q", latent.query_rank or net.hidden, heads * latent.head, "out")
    q = _turned(tape, q, s * heads * latent.plain * c, s * heads * latent.rotated * c)
    both = linear(tape, net, x, "kv.narrow", net.hidden, latent.key_rank + latent.rotated, "")
    narrow = tape.op("slice", (both,), s * latent.key_rank * c)
    place = _rotate(tape, tape.op("slice", (both,), s * latent.rotated * c), s * latent.rotated * c, WHOLE)
    narrow = norm(tape, net, narrow, "kv.norm", latent.key_rank, WHOLE)
    wide = linear(tape, net, narrow, "kv", latent.key_rank, heads * (latent.plain + latent.value), "out")
    key = tape.op("slice", (wide,), s * heads * latent.plain * c, TENSOR)
    k = tape.op("concat", (key, place), s * heads * latent.head * c, TENSOR)
    v = tape.op("slice", (wide,), s * heads * latent.value * c, TENSOR)
    tape.passed += s * heads * (latent.head + latent.value) * c
    like = replace(net, head_dim=latent.head)
    y = _flash(tape, like, q, k, v, latent.value) if net.attention == "flash" else _plain(tape, like, q, k, v)
    y = tape.op("transpose", (y,), s * heads * latent.value * c, TENSOR)
    return linear(tape, net, y, "o", heads * latent.value, net.hidden, "in")


def _turned(tape: Tape, x: int, plain: int, rotated: int) -> int:
    """A query of which one part gets its position."""
    place = _rotate(tape, tape.op("slice", (x,), rotated, TENSOR), rotated)
    return tape.op("concat", (tape.op("slice", (x,), plain, TENSOR), place), plain + rotated, TENSOR)


def _rotate(tape: Tape, x: int, size: int, split: str = TENSOR) -> int:
    low = tape.op("slice", (x,), size // 2, split)
    high = tape.op("slice", (x,), size // 2, split)
    turned = tape.op("concat", (tape.op("neg", (high,), size // 2, split), low), size, split)
    one = tape.op("mul", (x,), size, split)
    two = tape.op("mul", (turned,), size, split)
    return tape.op("add", (one, two), size, split)


def _plain(tape: Tape, net: Architecture, q: int, k: int, v: int) -> int:
    """Scores as a matrix: the product in the computed dtype, the softmax in float32."""
    c, squares = BYTES[net.computed], net.heads * net.seq * net.seq
    flops = 2 * net.seq * net.seq * net.heads * net.head_dim
    y = tape.op("scores", (q, k), squares * c, TENSOR, keeps=(q, k), flops=flops, again=True)
    y = tape.op("mul", (y,), squares * c, TENSOR, again=True)
    if c != FLOAT:
        y = tape.op("cast", (y,), squares * FLOAT, TENSOR, again=True)
    if net.picture is None:
        y = tape.op("mask", (y,), squares * FLOAT, TENSOR, again=True)
    y = tape.op("softmax", (y,), squares * FLOAT, TENSOR, own=True, again=True)
    if c != FLOAT:
        y = tape.op("cast", (y,), squares * c, TENSOR, again=True)
    size = net.seq * net.heads * net.head_dim * c
    return tape.op("context", (y, v), size, TENSOR, keeps=(y, v), flops=flops, again=True)


def _flash(tape: Tape, net: Architecture, q: int, k: int, v: int, value: int = 0) -> int:
    value = value or net.head_dim
    size = net.seq * net.heads * value * BYTES[net.computed]
    rows = net.heads * net.seq * FLASH_STATISTICS * FLOAT * 2
    statistics = tape.op("statistics", (), rows, TENSOR, own=True)
    mask = (tape.op("mask", (), MASK, own=True, once=True),) if net.framework == "torch" and not net.picture else ()
    # The fused operator leaves out what the causal mask hides.
    flops = (2 if net.picture else 1) * net.seq * net.seq * net.heads * (net.head_dim + value)
    return tape.op("flash", (q, k, v), size, TENSOR, keeps=(q, k, v, statistics, *mask), own=True, flops=flops)


def _feed_forward(tape: Tape, net: Architecture, x: int, prefix: str = "") -> int:
    size = net.seq * net.inner * BYTES[net.computed]
    if net.activation == "swiglu":
        gate = linear(tape, net, x, f"{prefix}gate", net.hidden, net.inner, "out")
        act = tape.op("silu", (gate,), size, TENSOR, keeps=(gate,))
        up = linear(tape, net, x, f"{prefix}up", net.hidden, net.inner, "out")
        y = tape.op("mul", (act, up), size, TENSOR, keeps=(act, up))
    else:
        up = linear(tape, net, x, f"{prefix}up", net.hidden, net.inner, "out")
        y = tape.op(net.activation, (up,), size, TENSOR, keeps=(up,) if net.activation == "gelu" else (), own=True)
    return linear(tape, net, y, f"{prefix}down", net.inner, net.hidden, "in")


def _experts(tape: Tape, net: Architecture, x: int) -> int:
    """Each token goes to some experts: their tokens are gathered, computed and put back; all experts hold weights."""
    c, active, graph = BYTES[net.computed], net.active_experts, net.framework == "mindspore"
    size = net.seq * net.hidden * c
    sent_size = size * active
    router = tape.weight("router", net.hidden * net.experts, cast=False)
    exact = tape.op("cast", (x,), net.seq * net.hidden * FLOAT) if c != FLOAT else x
    shares = net.seq * net.experts * FLOAT
    tape.whole += size + (net.seq * net.hidden * FLOAT if c != FLOAT else 0)
    scores = tape.op("route", (exact,), shares, keeps=(exact,), weights=(router,),
                     flops=2 * net.seq * net.hidden * net.experts)  # fmt: skip
    tape.op("softmax", (scores,), shares, own=True)
    rows = tape.op("concat", (x,), size) if graph else x
    sent = tape.op("dispatch", (rows,), sent_size)
    if graph:
        sent = tape.op("transpose", (sent,), sent_size)
    tape.exchanged += sent_size
    wide = net.seq * active * net.inner * c
    names = ("gate", "up") if net.activation == "swiglu" else ("up",)
    flops = 2 * net.seq * active * net.hidden * net.inner
    made = []
    for name in names:
        weight = _expert_weight(tape, name, net)
        made.append(tape.op("matmul", (sent,), wide, TENSOR, keeps=(sent,), weights=(weight,), flops=flops))
    act = tape.op("silu", (made[0],), wide, TENSOR, keeps=(made[0],), own=True)
    if len(made) == 2:
        act = tape.op("mul", (act, made[1]), wide, TENSOR, keeps=(act, made[1]))
    weight = _expert_weight(tape, "down", net)
    y = tape.op("matmul", (act,), sent_size, keeps=(act,), weights=(weight,), flops=flops)
    tape.reduced.append(y)
    for kind in ("transpose", "concat", "gather") if graph else ():
        y = tape.op(kind, (y,), sent_size)
    y = tape.op("mul", (y,), sent_size, keeps=(y,))
    return tape.op("sum", (y,), size, SEQUENCE)


def _expert_weight(tape: Tape, name: str, net: Architecture) -> int:
    index = tape.weight(f"experts.{name}", net.experts * net.hidden * net.inner, split=True)
    tape.weights[index] = tape.weights[index]._replace(expert=True)
    return index


def _end(net: Architecture) -> Tape:
    """Norm, head and cross entropy, all of the loss in float32."""
    tape = Tape()
    x = tape.value(net.seq * net.hidden * BYTES[net.computed], SEQUENCE, wide=True)
    y = _narrowed(tape, net, _joined(tape, net, norm(tape, net, x, "norm")))
    head = tape.weight("head", 0 if net.tied else net.hidden * net.vocab, split=True)
    flops = 2 * net.seq * net.hidden * net.vocab
    logits = net.seq * net.vocab * BYTES[net.computed]
    y = tape.op("matmul", (y,), logits, TENSOR, keeps=(y,), weights=(head,), flops=flops)
    return loss(tape, net, y, net.seq, TENSOR)


def loss(tape: Tape, net: Architecture, y: int, tokens: int, split: str) -> Tape:
    """Cross entropy over logits that tensor parallel has divided, or not."""
    made, rows, size = tape.values[y].size, tokens * FLOAT, tokens * net.vocab * FLOAT
    if net.framework == "torch":
        tape.collected += [y] if split == TENSOR else []
        return _torch_loss(tape, y, made, size)
    if made != size:
        y = tape.op("cast", (y,), size, split)
    most = tape.op("max", (y,), rows, own=True, keeps=())
    equal = tape.op("equal", (), size, split, own=True)
    less = tape.op("sub", (y, most), size, split)
    exp = tape.op("exp", (less,), size, split, own=True)
    total = tape.op("sum", (exp,), rows, own=True)
    share = tape.op("div", (exp, total), size, split, keeps=(total,), own=True, extra=size)
    log = tape.op("log", (share,), size, split, keeps=(share,))
    hot = tape.op("one_hot", (), size, split, own=True)
    y = tape.op("mul", (log,), size, split, keeps=(hot, equal), ahead=size)
    tape.op("sum", (y,), rows)
    return tape


def _torch_loss(tape: Tape, logits: int, made: int, size: int) -> Tape:
    """Logits are gathered from the tensor-parallel cards; float32, its log-softmax, and the loss."""
    whole = tape.op("gather", (logits,), made)
    wide = tape.op("cast", (whole,), size) if made != size else whole
    tape.op("nll", (tape.op("log_softmax", (wide,), size, own=True),), 0)
    return tape
