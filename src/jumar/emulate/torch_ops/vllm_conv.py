"""The short convolution over time of vllm-ascend's linear attention (Qwen3-Next).

vllm-project/vllm-ascend csrc/causal_conv1d/op_host and op_kernel (v0.18.0).
"""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.core.compat import pairwise
from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.registry import operator


@operator("_C_ascend::npu_causal_conv1d_custom")
def npu_causal_conv1d_custom(
    x: Tensor,
    weight: Tensor,
    conv_state: Tensor,
    bias_opt: Tensor | None,
    query_start_loc_opt: list[int],
    cache_indices_opt: list[int],
    initial_state_mode_opt: list[int],
    num_accepted_tokens_opt: list[int],
    activation_mode: int,
    pad_slot_id: int,
    run_mode: int,
) -> Tensor:
    """Rows of x are words, those of weight steps in time; a row of conv_state keeps the last words of a request."""
    rows, out = x.flatten(0, -2), torch.zeros_like(x)
    guessing = run_mode == 1 and bool(num_accepted_tokens_opt) and len(weight) == 4
    for request, (start, end) in enumerate(_requests(x, query_start_loc_opt, run_mode)):
        place = cache_indices_opt[request] if cache_indices_opt else request
        if start == end or (cache_indices_opt and place == pad_slot_id):
            continue
        begun = bool(initial_state_mode_opt and initial_state_mode_opt[request])
        first = _first(conv_state, len(weight), num_accepted_tokens_opt[request]) if guessing else 0
        kept = conv_state[place, first : first + len(weight) - 1]
        words = torch.cat([kept if begun else torch.zeros_like(kept), rows[start:end]])
        out.view(rows.shape)[start:end] = _convolved(words, weight, bias_opt, activation_mode != 0).to(x.dtype)
        _keep(conv_state[place], words, len(weight), guessing)
    return out


def _requests(x: Tensor, starts: list[int], run_mode: int) -> list[tuple[int, int]]:
    """Where each request begins and ends among the words."""
    if x.dim() == 3:
        return [(at * x.shape[1], (at + 1) * x.shape[1]) for at in range(x.shape[0])]
    if run_mode == 1 and len(starts) in (0, len(x) + 1):
        return [(at, at + 1) for at in range(len(x))]
    if not starts or starts[0] != 0 or starts[-1] != len(x):
        raise RuntimeError(f"queryStartLoc must go from 0 to the {len(x)} words of x, got {list(starts)}")
    return list(pairwise(starts))


def _first(state: Tensor, width: int, accepted: int) -> int:
    """Words that were guessed and not accepted are passed over."""
    return min(max(accepted - 1, 0), int(state.shape[1]) - (width - 1))


def _convolved(words: Tensor, weight: Tensor, bias: Tensor | None, activated: bool) -> Tensor:
    windows = wide(words).unfold(0, len(weight), 1)
    total = (windows * wide(weight).T).sum(-1)
    total = total if bias is None else total + wide(bias)
    return torch.nn.functional.silu(total) if activated else total


def _keep(state: Tensor, words: Tensor, width: int, guessing: bool) -> None:
    """The last words; of guessed ones all, since it is not known yet which are accepted."""
    new = words[1:] if guessing and len(words) - 1 <= len(state) else words[len(words) - width + 1 :]
    state[: len(new)] = new
