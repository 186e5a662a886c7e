"""The fused attention of torch_npu against that of torch: the scale that is left out, and the mask."""

from __future__ import annotations

import json

import torch
import torch_npu
from torch.nn.functional import scaled_dot_product_attention

HEADS, LENGTH, SIZE = 2, 4, 8
torch.manual_seed(0)
query, key, value = (torch.randn(1, HEADS, LENGTH, SIZE).npu() for _ in range(3))
mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril().npu()


def fused(**options: object) -> torch.Tensor:
    return torch_npu.npu_fusion_attention(query, key, value, HEADS, "BNSD", **options)[0]  # type: ignore[no-any-return]


def equal(wanted: torch.Tensor, got: torch.Tensor) -> bool:
    return torch.allclose(wanted, got, atol=1e-3)


whole = scaled_dot_product_attention(query, key, value)
causal = scaled_dot_product_attention(query, key, value, attn_mask=mask)
print(
    json.dumps(
        {
            "without scale": equal(whole, fused()),
            "with scale": equal(whole, fused(scale=SIZE**-0.5)),
            "same mask": equal(causal, fused(scale=SIZE**-0.5, atten_mask=mask)),
            "keep_prob 1": equal(whole, fused(scale=SIZE**-0.5, keep_prob=1.0)),
            "keep_prob 0.1 drops": float((fused(scale=SIZE**-0.5, keep_prob=0.1) == 0).float().mean()) > 0.3,
            "inverted mask": equal(causal, fused(scale=SIZE**-0.5, atten_mask=~mask)),
        }
    )
)
