"""Files of public hubs are read as they are: defaults of a type, keys that nobody reads, layers that differ."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from jumar.core.compat import tomllib
from jumar.core.errors import UserError
from jumar.parallel import configs
from jumar.parallel.network import Network
from jumar.tables.load import table

BENCH = Path(__file__).parents[2] / "bench" / "hub_sizes.toml"
MODELS = tomllib.loads(BENCH.read_text(encoding="utf-8"))["model"]
GEMMA = {
    "model_type": "gemma3",
    "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
                    "num_hidden_layers": 34, "sliding_window": 1024},
}  # fmt: skip
MOE = {
    "model_type": "qwen3_moe", "hidden_size": 1024, "num_hidden_layers": 8, "num_attention_heads": 16,
    "num_key_value_heads": 4, "head_dim": 64, "num_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32000,
    "moe_intermediate_size": 512, "intermediate_size": 2048, "tie_word_embeddings": False,
}  # fmt: skip


def read(tmp_path: Path, config: dict[str, Any]) -> Network:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    return configs.read(path)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model["name"])
def test_models_of_hubs_are_counted_right_or_refused(tmp_path: Path, model: dict[str, Any]) -> None:
    if model.get("refused"):
        with pytest.raises(UserError, match="which is not modelled"):
            read(tmp_path, model["config"])
        return
    net = read(tmp_path, model["config"])
    close = net.parameters / 1e9 == pytest.approx(model["published"], rel=0.01)
    assert close or any("is not a type whose sizes" in note for note in net.notes)
    if model.get("text"):
        assert any("only the text model" in note or "vision_config" in note for note in net.notes)


def test_what_a_file_leaves_out_is_that_of_its_type(tmp_path: Path) -> None:
    net = read(tmp_path, GEMMA)
    assert (net.heads, net.kv_heads, net.head_dim, net.vocab, net.tied) == (8, 4, 256, 262208, True)
    assert any("`num_attention_heads` 8" in note and "`vocab_size` 262208" in note for note in net.notes)


def test_keys_that_nobody_reads_are_named(tmp_path: Path) -> None:
    net = read(tmp_path, {**MOE, "adapter_rank": 64, "max_window_layers": 8, "rope_scaling": {"factor": 4}})
    assert [note for note in net.notes if "not read" in note] == [
        "keys that are not read and may change sizes: `adapter_rank`"
    ]


def test_a_type_that_was_not_compared_is_told(tmp_path: Path) -> None:
    assert not any("compared" in note for note in read(tmp_path, MOE).notes)
    net = read(tmp_path, {**MOE, "model_type": "house_moe"})
    assert any("`house_moe` is not a type whose sizes were compared" in note for note in net.notes)


@pytest.mark.parametrize(
    ("change", "dense"),
    [
        ({"mlp_only_layers": []}, 0),
        ({"mlp_only_layers": [0, 1]}, 2),
        ({"moe_layer_freq": [0, 1, 1, 1, 1, 1, 1, 1]}, 1),
        ({"mlp_layer_types": ["dense"] * 3 + ["sparse"] * 5}, 3),
    ],
)
def test_layers_without_experts_come_first(tmp_path: Path, change: dict[str, Any], dense: int) -> None:
    assert read(tmp_path, {**MOE, **change}).dense_layers == dense


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decoder_sparse_step": 2}, "has layers with and without experts in turn"),
        ({"mlp_only_layers": [3]}, "has layers with and without experts in turn"),
        ({"moe_layer_freq": 2}, "has layers with and without experts in turn"),
        ({"mamba_d_state": 16}, "has layers that are not attention (`mamba_d_state`)"),
        ({"full_attention_interval": 4, "linear_num_key_heads": 16}, "has layers that are not attention"),
        ({"layer_types": ["full_attention", "conv"]}, "has layers of `conv`"),
        ({"attn_type_list": [0, 0, 1]}, "has layers of linear attention"),
        ({"block_configs": [{"ffn": 1}]}, "has layers that differ"),
        ({"cross_attention_layers": [3, 8]}, "has layers of cross attention"),
        ({"model_type": "doge"}, "has parts that Jumar does not know: its parameters differ by"),
        ({"model_type": "clip"}, "has an encoder for text and one for pictures"),
    ],
)
def test_layers_that_differ_are_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        read(tmp_path, {**MOE, **change})


def test_full_attention_in_every_layer_is_read(tmp_path: Path) -> None:
    change = {"attn_type_list": [1] * 8, "layer_types": ["sliding_attention", "full_attention"] * 4}
    assert read(tmp_path, {**MOE, **change}).experts == 8


def test_falcon_has_its_key_heads(tmp_path: Path) -> None:
    config = {"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128,
              "num_kv_heads": 8, "multi_query": True, "vocab_size": 65024}  # fmt: skip
    assert read(tmp_path, {**config, "new_decoder_architecture": True}).kv_heads == 8
    assert read(tmp_path, {**config, "new_decoder_architecture": False}).kv_heads == 1


def test_most_types_of_transformers_have_their_size() -> None:
    """The table that the notes are made of: written by tools/refresh_parallel_types.py."""
    rows = [row["difference"] for row in table("parallel_types.json")["types"].values() if "difference" in row]
    assert len(rows) > 120
    assert sum(abs(row) < 0.01 for row in rows) / len(rows) > 0.8
