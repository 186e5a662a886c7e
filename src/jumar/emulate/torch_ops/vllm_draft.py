"""Speculative decoding of vllm-ascend: the inputs of a draft model from those of the target model.

vllm-project/vllm-ascend csrc/copy_and_expand_eagle_inputs (v0.18.0).
"""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.torch_ops.registry import operator


@operator("_C_ascend::npu_copy_and_expand_eagle_inputs")
def npu_copy_and_expand_eagle_inputs(
    target_token_ids: Tensor,
    target_positions: Tensor,
    next_token_ids: Tensor,
    query_start_loc: Tensor,
    query_end_loc: Tensor,
    padding_token_id: int,
    parallel_drafting_token_id: int,
    num_padding_slots_per_request: int,
    shift_input_ids: bool,
    total_draft_tokens: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """For each request its accepted words, the new one, words to draft in parallel, and rejected ones as padding."""
    slots, tokens = num_padding_slots_per_request, target_token_ids
    ids, places = (torch.zeros(total_draft_tokens, dtype=torch.int32) for _ in range(2))
    rejected, masked = (torch.zeros(total_draft_tokens, dtype=torch.int8) for _ in range(2))
    new = torch.zeros(len(next_token_ids), slots, dtype=torch.int32)
    mapping = torch.zeros(len(tokens), dtype=torch.int32)
    starts, ends = query_start_loc.tolist(), query_end_loc.tolist()
    for i, (start, end, stop) in enumerate(zip(starts, ends, starts[1:])):
        valid = max(end - start + (0 if shift_input_ids else 1), 0)
        out = start + i * (slots - 1 if shift_input_ids else slots)
        first = start + 1 if shift_input_ids else start
        room = len(tokens) if shift_input_ids else stop
        if valid and first < room:
            ids[out : out + valid] = tokens[torch.arange(first, first + valid).clamp(max=room - 1)].int()
        fresh = out + valid
        ids[fresh] = next_token_ids[i]
        ids[fresh + 1 : fresh + slots] = parallel_drafting_token_id
        masked[fresh + 1 : fresh + slots] = 1
        places[out : fresh + slots] = target_positions[start] + torch.arange(valid + slots, dtype=torch.int32)
        last = fresh + slots + max(stop - end - 1, 0)
        ids[fresh + slots : last] = padding_token_id
        rejected[fresh + slots : last] = 1
        new[i] = torch.arange(fresh, fresh + slots, dtype=torch.int32)
        if shift_input_ids:
            mapping[start:stop] = torch.arange(out, out + stop - start, dtype=torch.int32)
    return ids, places, rejected, masked, new.flatten(), mapping
