"""torch_npu's kernels never say that they are not deterministic; those of the CPU do, and it is not the card's word."""

import warnings

import torch
import torch_npu  # noqa: F401
from torch.nn import functional

x, places = torch.arange(8.0, device="npu"), torch.tensor([0, 3], device="npu")
flat, solid = (torch.zeros(1, 1, *[2] * dims, dtype=torch.int64, device="npu") for dims in (2, 3))
CALLS = [
    lambda: x.clone().put_(places, torch.ones(2, device="npu")),
    lambda: functional.max_unpool2d(flat.float(), flat, 2),
    lambda: functional.max_unpool3d(solid.float(), solid, 2),
]
for warn_only in (False, True):
    torch.use_deterministic_algorithms(True, warn_only=warn_only)
    for call in CALLS:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call()
    assert torch.are_deterministic_algorithms_enabled()
    assert torch.is_deterministic_algorithms_warn_only_enabled() is warn_only

# The host keeps its own alerts, and other warnings come through.
torch.use_deterministic_algorithms(True)
try:
    x.cpu().put_(places.cpu(), torch.ones(2))
except RuntimeError as error:
    assert "put_ does not have a deterministic implementation" in str(error)
else:
    raise AssertionError("the host's kernel raises")
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    torch.add(x, 1, out=torch.empty(3, device="npu"))
assert "An output with one or more elements was resized" in str(said[0].message)
