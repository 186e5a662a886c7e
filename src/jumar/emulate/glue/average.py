"""`ReduceOp.AVG` of integers: torch_npu divides the sum in place, which torch's CPU kernel refuses.

The chip divides in float32 and cuts the quotient off (ops-math, `aclnnInplaceDivs`); the 950 refuses most integers, and
torch_npu asks it for a cut quotient. ProcessGroupHCCL.cpp calls the overload for numbers, which Python does not call:
`x.div_(2)` of a program is `div_.Tensor`.
"""

from __future__ import annotations

import warnings
from typing import Any

from jumar.emulate import env

_LIBRARY: list[Any] = []


def register() -> None:
    import torch

    if _LIBRARY or env.chip() == "950":
        return
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # older torch says that a kernel is replaced: it is what we do
        library.impl("div_.Scalar", _divide, "PrivateUse1")
    _LIBRARY.append(library)


def _divide(tensor: Any, number: Any) -> Any:
    import torch

    real = tensor.is_floating_point() or tensor.is_complex()
    if real or tensor.dtype == torch.bool or isinstance(number, complex):
        return tensor.div_(number)
    return tensor.copy_(tensor.float().div_(number))
