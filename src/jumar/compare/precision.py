"""Roundings by precision, and which operators are products: what needs no torch to be known."""

from __future__ import annotations

UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "hf32": 2.0**-12, "float16": 2.0**-11, "bfloat16": 2.0**-8,
        "float8_e4m3fn": 2.0**-4, "float8_e5m2": 2.0**-3}  # fmt: skip
"""Largest relative error of one rounding. hf32 keeps 11 bits of the mantissa of float32."""
PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", "convolution", "convolution_backward", "_scaled_dot_product", "addmv",
            "mv", "dot", "npu_fusion_attention", "npu_conv", "npu_linear", "_trilinear", "mkldnn")  # fmt: skip


def short(name: str) -> str:
    """The operator's plain name: `addmm` of `aten.addmm.default`."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else name


def is_product(name: str) -> bool:
    return short(name).startswith(PRODUCTS)
