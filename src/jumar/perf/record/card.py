"""A run on the CPU as the card would have it: what torch_npu chooses that torch does not choose on a CPU."""

from __future__ import annotations

from typing import Any

from jumar.perf.record.watch import Watch
from jumar.tables.load import table
from jumar.tables.perf import attention, foreach_families


def follow(watch: Watch, soc: str) -> None:
    """From here on, optimizers and attention run on the CPU as they would on this chip."""
    family = table("emulated_socs.json")["socs"][soc]["family"]
    if family in foreach_families():
        _update_together()
    _attend(watch, family)


def _update_together() -> None:
    from torch.optim import optimizer

    known = optimizer._get_foreach_kernels_supported_devices
    optimizer._get_foreach_kernels_supported_devices = lambda: [*known(), "cpu"]


def _attend(watch: Watch, family: str) -> None:
    from torch.nn import functional

    original = functional.scaled_dot_product_attention

    def attend(query: Any, key: Any, value: Any, attn_mask: Any = None, *args: Any, **options: Any) -> Any:
        if is_fused(family, query, key, value, attn_mask):
            with watch.as_one(attention().operator, (query, key, value)) as done:
                done.append(original(query, key, value, attn_mask, *args, **options))
            return done[0]
        with _single_operators():
            return original(query, key, value, attn_mask, *args, **options)

    functional.scaled_dot_product_attention = attend


def _single_operators() -> Any:
    """Attention made of plain operators; torch.nn.attention is newer than 2.2."""
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError:
        from torch.backends.cuda import sdp_kernel

        return sdp_kernel(enable_flash=False, enable_math=True, enable_mem_efficient=False)
    return sdpa_kernel(SDPBackend.MATH)


def is_fused(family: str, query: Any, key: Any, value: Any, mask: Any) -> bool:
    """One kernel on this chip, or single operators?"""
    row = attention()
    kind = str(query.dtype).removeprefix("torch.")
    if family not in row.families or kind not in row.types or {query.dim(), key.dim(), value.dim()} != {row.axes}:
        return False
    if mask is not None and str(mask.dtype) != "torch.bool":
        return False
    if kind == "float32" and any(item.shape[-1] % row.float32_multiple for item in (query, key, value)):
        return False
    heads, shared = query.shape[1], key.shape[1]
    return bool(0 < shared <= heads <= row.heads and heads % shared == 0 and query.shape[3] <= row.head_size)
