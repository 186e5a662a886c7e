"""Functions of torch_npu that call a kernel of CANN themselves: each asks the dispatcher instead, where the glue is.

torch_npu 2.13: csrc/npu/Graph.cpp, `_npu_fused_infer_attention_score_out_graph`.
"""

from __future__ import annotations

from typing import Any


def register() -> None:
    import torch_npu

    for function in (_npu_fused_infer_attention_score_out_graph,):
        if hasattr(torch_npu._C, function.__name__):  # not in every release
            setattr(torch_npu._C, function.__name__, function)


def _npu_fused_infer_attention_score_out_graph(stream: Any, handle: Any, event: Any, *args: Any, **kwargs: Any) -> Any:
    """Exchanges an attention of a captured graph, and lets the graph go on."""
    import torch
    import torch_npu

    torch.npu.graph_task_update_begin(stream, handle)
    try:
        results = torch_npu.npu_fused_infer_attention_score.out(*args, **kwargs)
    finally:
        torch.npu.graph_task_update_end(stream)
    event.record(stream)
    return results
