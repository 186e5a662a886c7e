"""Which layers of a config.json are alike: attention or something else, experts or not."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.parallel.config_file import ConfigFile

ATTENTION = {"attention", "full_attention", "sliding_attention", "chunked_attention", "global", "local", "full",
             "sliding", "indexed_attention"}  # fmt: skip
RECURRENT = (
    "mamba_", "ssm_", "linear_num_", "linear_key_", "linear_value_", "linear_conv_", "linear_attn_", "conv_L_cache",
    "lru_width", "time_step_", "attn_layer_period", "attn_layer_indices", "hybrid_override_pattern",
    "layers_block_type", "recurrent_", "chunkwise_kernel", "short_conv", "full_attention_interval", "d_conv", "d_state",
)  # fmt: skip
"""How the names of keys begin that only models with recurrent or convolutional layers have."""
DIFFERENT = {
    "block_configs": "has layers that differ",
    "num_query_heads": "has layers that differ",
    "cross_attention_layers": "has layers of cross attention",
    "cross_layer_interval": "has layers of cross attention",
    "num_hidden_groups": "has layers that share their weights",
    "hidden_size_per_layer_input": "has an embedding for each layer",
    "vocab_size_per_layer_input": "has an embedding for each layer",
    "num_kv_shared_layers": "has layers that share keys and values",
    "zero_expert_num": "has experts without weights and two attentions in a layer",
    "attn_type_list": "has layers of linear attention",
}
"""Keys of models whose layers are not equal, and what they mean."""


def strange(file: ConfigFile) -> str:
    """Why the layers of a file cannot be modelled; empty if they can."""
    kinds = file.get("layer_types") or file.get("block_types") or file.get("attention_types_per_layer") or ()
    for kind in kinds if isinstance(kinds, list) else ():
        if isinstance(kind, str) and kind not in ATTENTION:
            return "has layers of linear attention" if "linear" in kind else f"has layers of `{kind}`"
    for key, reason in DIFFERENT.items():
        value = file.data.get(key)
        if isinstance(value, list) and set(map(str, value)) == {"1"}:
            value = None
        if value:
            return reason
    for key, value in file.data.items():
        if value and not isinstance(value, bool) and key.startswith(RECURRENT):
            return f"has layers that are not attention (`{key}`)"
    return ""


def with_experts(file: ConfigFile, layers: int, first: int) -> list[bool]:
    """Which layers have experts, by the words that models use for it; `first`: so many without come first."""
    rows = [number >= first for number in range(layers)]
    for chosen in _rules(file, layers):
        rows = [a and b for a, b in zip(rows, chosen, strict=True)]
    return rows


def _rules(file: ConfigFile, layers: int) -> Iterator[list[bool]]:
    every = range(layers)
    for key in ("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval", "moe_every_n_layers"):
        step = file.get(key)
        if isinstance(step, int) and step > 1:
            yield [(number + 1) % step == 0 for number in every]
    for key in ("moe_layer_freq", "mlp_layer_types"):
        step = file.get(key)
        if isinstance(step, list) and len(step) >= layers:
            yield [one in (1, "sparse", "moe") for one in step[:layers]]
        elif isinstance(step, int) and step > 1:
            yield [number % step == 0 for number in every]
    period, offset = file.get("expert_layer_period"), file.get("expert_layer_offset") or 0
    if isinstance(period, int) and period > 1:
        yield [number % period == offset for number in every]
    last = file.get("moe_layer_end_index")
    if isinstance(last, int) and last >= 0:
        yield [number <= last for number in every]
    plain = file.get("mlp_only_layers")
    if plain:
        yield [number not in plain for number in every]
    chosen = file.get("moe_layers")
    if isinstance(chosen, list) and chosen:
        yield [number in chosen for number in every]
