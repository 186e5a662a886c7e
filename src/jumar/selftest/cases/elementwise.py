"""Operators that compute each value alone: arithmetic, powers, exponentials, comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jumar.selftest.case import HALVES, WHOLE, rows

if TYPE_CHECKING:
    from jumar.selftest.given import Given

CASES = [
    *rows(
        {
            "add": lambda g: g.normal(65, 33) + g.normal(65, 33),
            "add-scaled": lambda g: g.torch.add(g.normal(40), g.normal(40), alpha=2),
            "sub": lambda g: g.normal(65, 33) - g.normal(33),
            "mul": lambda g: g.normal(65, 33) * g.normal(65, 1),
            "mul-number": lambda g: g.normal(65, 33) * 0.5,
            "neg": lambda g: -g.normal(300),
            "abs": lambda g: g.normal(300).abs(),
            "sign": lambda g: g.normal(300).sign(),
            "floor": lambda g: g.normal(300, scale=5).floor(),
            "ceil": lambda g: g.normal(300, scale=5).ceil(),
            "round": lambda g: g.normal(300, scale=5).round(),
            "trunc": lambda g: g.normal(300, scale=5).trunc(),
            "clamp": lambda g: g.normal(300).clamp(-0.5, 0.7),
            "maximum": lambda g: g.torch.maximum(g.normal(300), g.normal(300)),
            "minimum": lambda g: g.torch.minimum(g.normal(300), g.normal(300)),
            "where": lambda g: g.torch.where(g.chance(300), g.normal(300), g.normal(300)),
            "less": lambda g: g.normal(300) < g.normal(300),
            "equal": lambda g: g.normal(300).round() == g.normal(300).round(),
            "greater-number": lambda g: g.normal(300) >= 0.25,
            "not-finite": lambda g: g.torch.stack([_odd(g).isnan(), _odd(g).isinf(), _odd(g).isfinite()]),
            "add-in-place": lambda g: g.normal(300).add_(g.normal(300)),
            "masked-fill": lambda g: g.normal(300).masked_fill(g.chance(300), -2.0),
            "not-equal": lambda g: g.normal(300).round() != g.normal(300).round(),
            "relu6": lambda g: g.torch.nn.functional.relu6(g.normal(300, scale=5)),
            "threshold": lambda g: g.torch.nn.functional.threshold(g.normal(300), 0.2, -1.0),
            "nan-to-num": lambda g: _odd(g).nan_to_num(0.5, 9.0, -9.0),
            "frac": lambda g: g.normal(300, scale=5).frac(),
            "overflow": lambda g: _large(g) * 4,
            "subnormal": lambda g: g.uniform(300, low=1, high=9) * g.torch.finfo(g.own).tiny / 64,
            "no-number": lambda g: _odd(g) - _odd(g),
            "lerp-ends": lambda g: g.torch.lerp(g.normal(300), g.normal(300), 0.0),
        },
        types=HALVES,
        exact=True,
    ),
    *rows(
        {
            "div": lambda g: g.normal(65, 33) / g.uniform(65, 33, low=0.5, high=3),
            "div-number": lambda g: g.normal(300) / 3,
            "reciprocal": lambda g: g.uniform(300, low=0.2, high=9).reciprocal(),
            "sqrt": lambda g: g.uniform(300, high=9).sqrt(),
            "rsqrt": lambda g: g.uniform(300, low=0.1, high=9).rsqrt(),
            "square": lambda g: g.normal(300).square(),
            "pow": lambda g: g.uniform(300, low=0.1, high=3) ** 1.7,
            "pow-tensor": lambda g: g.uniform(300, low=0.1, high=3) ** g.uniform(300, low=-1, high=2),
            "exp": lambda g: g.normal(300, scale=2).exp(),
            "exp2": lambda g: g.normal(300, scale=2).exp2(),
            "expm1": lambda g: g.normal(300).expm1(),
            "log": lambda g: g.uniform(300, low=0.1, high=9).log(),
            "log2": lambda g: g.uniform(300, low=0.1, high=9).log2(),
            "log1p": lambda g: g.uniform(300, high=9).log1p(),
            "sin": lambda g: g.normal(300, scale=2).sin(),
            "cos": lambda g: g.normal(300, scale=2).cos(),
            "tan": lambda g: g.normal(300, scale=0.4).tan(),
            "asin": lambda g: g.uniform(300, low=-0.9, high=0.9).asin(),
            "acos": lambda g: g.uniform(300, low=-0.9, high=0.9).acos(),
            "sinh": lambda g: g.normal(300).sinh(),
            "cosh": lambda g: g.normal(300).cosh(),
            "tanh": lambda g: g.normal(300).tanh(),
            "atan2": lambda g: g.torch.atan2(g.normal(300), g.uniform(300, low=0.5, high=3)),
            "log10": lambda g: g.uniform(300, low=0.1, high=9).log10(),
            "erfc": lambda g: g.normal(300).erfc(),
            "logaddexp": lambda g: g.torch.logaddexp(g.normal(300).float(), g.normal(300).float()),
            "xlogy": lambda g: g.torch.xlogy(g.normal(300), g.uniform(300, low=0.1, high=9)),
            "fmod": lambda g: g.torch.fmod(g.uniform(300, low=-9, high=9), 2.5),
            "floor-divide": lambda g: g.uniform(300, low=1, high=9) // 0.75,
            "atan": lambda g: g.normal(300).atan(),
            "erf": lambda g: g.normal(300).erf(),
            "sigmoid": lambda g: g.normal(300, scale=2).sigmoid(),
            "addcmul": lambda g: g.torch.addcmul(g.normal(300), g.normal(300), g.normal(300), value=0.3),
            "addcdiv": lambda g: g.torch.addcdiv(
                g.normal(300), g.normal(300), g.uniform(300, low=1, high=2), value=0.3
            ),
            "lerp": lambda g: g.torch.lerp(g.normal(300), g.normal(300), 0.3),
            "remainder": lambda g: g.uniform(300, high=9) % 2.5,
        },
        types=HALVES,
        single=True,
    ),
    *rows(
        {
            "whole-add": lambda g: g.whole(300) + g.whole(300),
            "whole-mul": lambda g: g.whole(300) * g.whole(300),
            "whole-div": lambda g: g.torch.div(g.whole(300), g.whole(300, low=1), rounding_mode="floor"),
            "whole-remainder": lambda g: g.whole(300) % g.whole(300, low=1),
            "bit-and": lambda g: g.whole(300, low=0) & g.whole(300, low=0),
            "bit-or": lambda g: g.whole(300, low=0) | g.whole(300, low=0),
            "bit-xor": lambda g: g.whole(300, low=0) ^ g.whole(300, low=0),
            "shift-left": lambda g: g.whole(300, low=0) << 2,
            "shift-right": lambda g: g.whole(300, low=0) >> 1,
            "whole-abs": lambda g: g.whole(300).abs(),
            "whole-power": lambda g: g.whole(300, low=-9, high=9) ** 3,
            "whole-clamp": lambda g: g.whole(300).clamp(-7, 9),
            "whole-less": lambda g: g.whole(300) < g.whole(300),
        },
        types=WHOLE,
        exact=True,
    ),
    *rows(
        {
            "logical-and": lambda g: g.chance(300) & g.chance(300),
            "logical-not": lambda g: ~g.chance(300),
            "logical-xor": lambda g: g.torch.logical_xor(g.chance(300), g.chance(300)),
        },
        exact=True,
    ),
]


def _large(g: Given) -> Any:
    """Four times these are beyond the type: its largest numbers, not those of float64."""
    most = g.torch.finfo(g.own).max
    return g.values([most / 2, -most / 2, most / 8, 1.0, 0.0])


def _odd(g: Given) -> Any:
    return g.values([0.0, -1.0, float("inf"), float("-inf"), float("nan"), 3.0])
