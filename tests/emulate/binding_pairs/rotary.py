"""Rotary position embedding in all orders of the pairs."""

from __future__ import annotations

import torch

from jumar.emulate.formulas.rotary import MODES

from . import Results, Side, drawn, pair

_TAKEN = ("half", "interleave")  # by npu_rotary_mul; the call has all four


@pair("npu_rotary_mul", "aclnnRotaryPositionEmbedding")
def rotate(torch_side: Side, mindspore_side: Side) -> Results:
    for mode in _TAKEN:
        for heads in (1, 3):
            x, cos, sin = drawn(2, 5, 3, 8), drawn(2, 5, heads, 8), drawn(2, 5, heads, 8, seed=2)
            results = torch_side(x, cos, sin, mode)
            yield f"{mode}, {heads}", results, mindspore_side(x=x, cos=cos, sin=sin, mode=MODES.index(mode))


@pair("npu_rotary_mul_backward", "aclnnRotaryPositionEmbeddingGrad")
def rotate_backward(torch_side: Side, mindspore_side: Side) -> Results:
    grad, x, cos, sin = drawn(2, 5, 3, 8, seed=3), drawn(2, 5, 3, 8), drawn(2, 5, 1, 8), drawn(2, 5, 1, 8, seed=2)
    for mode in _TAKEN:
        results = torch_side(grad, x, cos, sin, mode)
        given = {"grad": grad, "cos": cos, "sin": sin, "mode": MODES.index(mode)}
        yield mode, results, mindspore_side(x=x, **given)
        yield f"{mode}, for x only", (results[0], None, None), mindspore_side(x=None, **given)


@pair("npu_apply_rotary_pos_emb", "aclnnApplyRotaryPosEmb")
def rotate_both(torch_side: Side, mindspore_side: Side) -> Results:
    """MindSpore's forms name the rows of a table of angles; torch gets the angles of each token."""
    table = drawn(9, 8), drawn(9, 8, seed=2)
    places = torch.randint(9, (2, 5), generator=torch.Generator().manual_seed(1))
    cos, sin = (one[places].unsqueeze(2) for one in table)
    for form, mode in enumerate(_TAKEN):
        query, key = drawn(2, 5, 4, 8), drawn(2, 5, 2, 8)
        flat = {"query": query.flatten(2).clone(), "key": key.flatten(2).clone()}
        given = {"cos": table[0], "sin": table[1], "given": places.flatten(), "form": form}
        others = mindspore_side(**flat, **given)
        results = torch_side(query, key, cos, sin, "BSND", mode)
        yield mode, [one.reshape(2, 5, -1) for one in results], others
