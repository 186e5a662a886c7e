"""Names, config.json files and modules become the networks that they are."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from jumar.core.errors import UserError
from jumar.parallel import configs, mindir, models, modules
from program_files import program_text

LLAMA2 = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 32000, "hidden_act": "silu",
    "rms_norm_eps": 1e-5, "max_position_embeddings": 4096, "torch_dtype": "float16", "tie_word_embeddings": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("gpt3-175b", 175.0), ("gpt3-13b", 13.0), ("gpt3-125m", 0.125), ("llama-7b", 6.738), ("llama-70b", 68.98),
        ("llama3-8b", 8.03), ("mixtral-8x7b", 46.7), ("pangu-alpha-2.6b", 2.6), ("resnet-50", 0.02556),
        ("mlp-8x1024", 0.0671),
    ],
)  # fmt: skip
def test_presets_have_the_published_size(name: str, billions: float) -> None:
    assert models.preset(name).parameters / 1e9 == pytest.approx(billions, rel=0.03)


def test_every_preset_names_its_source() -> None:
    assert all(row["source"] for row in models.presets().values())


def test_config_and_preset_agree(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA2))
    net = models.find(str(tmp_path), sys.executable, None)
    assert net.parameters == models.preset("llama-7b").parameters == 6738415616
    assert (net.seq, net.computed, net.activation) == (4096, "float16", "swiglu")


def test_the_note_on_tokens_is_for_the_sequence_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**LLAMA2, "max_position_embeddings": 16384}))
    said = {seq: models.find(str(path), sys.executable, seq).notes for seq in (None, 8192, 32768)}
    assert said[None] == ("4096 of the 16384 tokens that the file allows are used; `--seq` changes it",)
    assert said[8192] == ()
    assert said[32768] == ("32768 tokens are more than the 16384 that the file allows",)


def test_odd_vocabulary_is_filled_up_and_told(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**LLAMA2, "vocab_size": 32001}))
    net = configs.read(path)
    assert net.vocab == 32128 and "filled up to 32128" in net.notes[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a configuration"),
        ("{}", "has no `num_hidden_layers`"),
        (json.dumps({**LLAMA2, "num_hidden_layers": 0}), "must be at least 1"),
        (json.dumps({**LLAMA2, "num_attention_heads": 30}), "30 heads do not divide"),
    ],
)
def test_wrong_configs_are_told(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        models.find(str(path), sys.executable, None)


def test_unknown_names_get_the_nearest() -> None:
    with pytest.raises(UserError) as caught:
        models.find("lama-7b", sys.executable, None)
    assert caught.value.hint == "did you mean `llama-7b`?"


IR = """\
%para1_x: <Tensor[Float32], (2, 64)> : [2, 64]
%para2_bs.0.d.weight: <Ref[Tensor[Float32]], (256, 64), ref_key=bs.0.d.weight, is_parameter>  :  has_default
%para3_bs.1.d.weight: <Ref[Tensor[Float32]], (256, 256), ref_key=bs.1.d.weight, is_parameter>  :  has_default

subgraph @net() {
  %0(w) = Load(%para2_bs.0.d.weight, UMonad[U])
      : (<Ref[Tensor[Float32]], (256, 64)>, <UMonad, NoShape>) -> (<Tensor[Float32], (256, 64)>)
  %1(y) = PrimFunc_MatMul(%para1_x, %0, Bool(0), Bool(1)) {instance name: mm}
      : (<Tensor[Float32], (2, 64)>, <Tensor[Float32], (256, 64)>, <Bool, NoShape>) -> (<Tensor[Float32], (2, 256)>)
      # Fullname with scope: (Default/bs-CellList/0-B/d-Dense/MatMul-op0)
  %2(g) = PrimFunc_GeLU(%1)
      : (<Tensor[Float32], (2, 256)>) -> (<Tensor[Float32], (2, 256)>)
      # Fullname with scope: (Default/bs-CellList/0-B/GeLU-op0)
  %3(w) = Load(%para3_bs.1.d.weight, UMonad[U])
      : (<Ref[Tensor[Float32]], (256, 256)>, <UMonad, NoShape>) -> (<Tensor[Float32], (256, 256)>)
  %4(y) = PrimFunc_MatMul(%2, %3, Bool(0), Bool(1)) {instance name: mm}
      : (<Tensor[Float32], (2, 256)>, <Tensor[Float32], (256, 256)>, <Bool, NoShape>) -> (<Tensor[Float32], (2, 256)>)
      # Fullname with scope: (Default/bs-CellList/1-B/d-Dense/MatMul-op0)
  %5(g) = PrimFunc_GeLU(%4)
      : (<Tensor[Float32], (2, 256)>) -> (<Tensor[Float32], (2, 256)>)
  %6(m) = PrimFunc_ReduceMean(%5, (), Bool(0))
      : (<Tensor[Float32], (2, 256)>, <Tuple[], TupleShape()>, <Bool, NoShape>) -> (<Tensor[Float32], ()>)
      # Fullname with scope: (Default/ReduceMean-op0)
  Return(%6)
}
"""


HUB = {
    "gpt2": ({"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "n_positions": 1024,
              "vocab_size": 50257, "activation_function": "gelu_new"}, 0.124, "learned"),
    "bert": ({"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
              "intermediate_size": 3072, "vocab_size": 30522, "max_position_embeddings": 512, "hidden_act": "gelu"},
             0.109, "learned"),
    "mistral": ({"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
                 "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000, "hidden_act": "silu",
                 "max_position_embeddings": 32768, "rms_norm_eps": 1e-5, "tie_word_embeddings": False}, 7.24, "rope"),
    "qwen": ({"model_type": "qwen", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
              "intermediate_size": 22016, "vocab_size": 151936, "seq_length": 8192, "kv_channels": 128,
              "tie_word_embeddings": False}, 7.72, "rope"),
    "chatglm": ({"model_type": "chatglm", "hidden_size": 4096, "num_layers": 28, "num_attention_heads": 32,
                 "multi_query_group_num": 2, "ffn_hidden_size": 13696, "padded_vocab_size": 65024, "kv_channels": 128,
                 "seq_length": 32768, "tie_word_embeddings": False}, 6.24, "rope"),
    "vit": ({"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
             "intermediate_size": 3072, "image_size": 224, "patch_size": 16, "num_channels": 3, "hidden_act": "gelu"},
            0.0866, "learned"),
    "siglip": ({"model_type": "siglip_vision_model", "hidden_size": 1152, "num_hidden_layers": 27,
                "num_attention_heads": 16, "intermediate_size": 4304, "image_size": 384, "patch_size": 14,
                "num_labels": 1, "hidden_act": "gelu_pytorch_tanh"}, 0.413, "learned"),
    "gemma3": ({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560,
                "num_hidden_layers": 34, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
                "intermediate_size": 10240, "vocab_size": 262208}}, 3.88, "rope"),
    "command-r": ({"model_type": "cohere", "hidden_size": 8192, "num_hidden_layers": 40, "num_attention_heads": 64,
                   "num_key_value_heads": 64, "intermediate_size": 22528, "vocab_size": 256000,
                   "hidden_act": "silu"}, 34.98, "rope"),
    "vision": ({"model_type": "llava", "text_config": {"model_type": "llama", "hidden_size": 4096,
                "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 11008, "vocab_size": 32064,
                "max_position_embeddings": 4096, "tie_word_embeddings": False}}, 6.74, "rope"),
}  # fmt: skip


@pytest.mark.parametrize("name", HUB)
def test_configurations_of_the_hub_have_their_size(tmp_path: Path, name: str) -> None:
    data, billions, position = HUB[name]
    path = tmp_path / "config.json"
    path.write_text(json.dumps(data))
    net = configs.read(path)
    assert net.parameters / 1e9 == pytest.approx(billions, rel=0.02)
    assert net.position == position and net.seq <= 4096


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": "4096"}, '`hidden_size` must be a whole number, not "4096"'),
        ({"num_attention_heads": [8, 8]}, "`num_attention_heads` must be a whole number"),
        ({"num_key_value_heads": 5}, "5 key heads do not divide 32 heads"),
        ({"num_hidden_layers": 0}, "`num_hidden_layers` must be at least 1, not 0"),
        ({"vocab_size": None}, "has no `vocab_size`"),
        ({"is_encoder_decoder": True}, "`llama` has an encoder and a decoder, which is not modelled"),
        ({"model_type": "t5"}, "`t5` has an encoder and a decoder"),
        ({"model_type": "swin"}, "`swin` has stages of different widths, which is not modelled"),
        ({"vocab_size": None, "patch_size": 16}, "has no `image_size`"),
        ({"layer_types": ["linear_attention", "full_attention"]}, "has layers of linear attention"),
        ({"amount_of_experts": 8}, "`amount_of_experts` is not known"),
    ],
)
def test_odd_configurations_are_told(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**LLAMA2, **change}))
    with pytest.raises(UserError, match=re.escape(message)):
        configs.read(path)


QWEN_MOE = {
    "model_type": "qwen2_moe", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16,
    "num_key_value_heads": 16, "num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408,
    "shared_expert_intermediate_size": 5632, "vocab_size": 151936, "intermediate_size": 5632,
}  # fmt: skip
QWEN3_MOE = {
    "model_type": "qwen3_moe", "hidden_size": 2048, "num_hidden_layers": 48, "num_attention_heads": 32,
    "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8,
    "moe_intermediate_size": 768, "vocab_size": 151936, "intermediate_size": 6144,
}  # fmt: skip
DEEPSEEK = {
    "model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128,
    "num_key_value_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256,
    "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "q_lora_rank": 1536,
    "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280,
    "num_nextn_predict_layers": 1,
}  # fmt: skip
ERNIE = {
    "model_type": "ernie4_5_moe", "hidden_size": 2560, "num_hidden_layers": 28, "num_attention_heads": 20,
    "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 12288, "moe_num_experts": 64, "moe_k": 6,
    "moe_intermediate_size": 1536, "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "vocab_size": 103424,
    "tie_word_embeddings": True, "hidden_act": "silu",
}  # fmt: skip
HUNYUAN = {
    "model_type": "hunyuan_v1_moe", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "attention_head_dim": 128, "intermediate_size": 3072, "num_experts": 64,
    "moe_intermediate_size": [3072] * 32, "moe_topk": [8] * 32, "num_shared_expert": [1] * 32, "vocab_size": 128167,
    "tie_word_embeddings": True, "hidden_act": "silu",
}  # fmt: skip
DBRX = {
    "model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40, "max_seq_len": 32768, "vocab_size": 100352,
    "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}, "attn_config": {"kv_n_heads": 8},
}  # fmt: skip
LLAMA4 = {
    "model_type": "llama4", "text_config": {
        "model_type": "llama4_text", "hidden_size": 5120, "num_hidden_layers": 48, "num_attention_heads": 40,
        "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 8192, "intermediate_size_mlp": 16384,
        "num_local_experts": 16, "num_experts_per_tok": 1, "vocab_size": 202048, "hidden_act": "silu",
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("config", "billions"),
    [(QWEN_MOE, 14.3), (QWEN3_MOE, 30.5), (DEEPSEEK, 671.0), (ERNIE, 21.8), (HUNYUAN, 80.4), (DBRX, 131.6),
     (LLAMA4, 107.8)],
    ids=["qwen2", "qwen3", "deepseek", "ernie", "hunyuan", "dbrx", "llama4"],
)  # fmt: skip
def test_mixtures_of_experts_have_the_published_size(tmp_path: Path, config: dict[str, Any], billions: float) -> None:
    """Sizes as their authors publish them, with shared experts, dense first layers and latent attention."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    assert configs.read(path).parameters / 1e9 == pytest.approx(billions, rel=0.005)


def test_graph_of_mindspore_is_read() -> None:
    trace = mindir.read(IR)
    assert [(row["kind"], row["block"], row["weights"]) for row in trace["ops"]] == [
        ("MatMul", 0, ["bs.0.d.weight"]), ("GeLU", 0, []), ("MatMul", 1, ["bs.1.d.weight"]), ("GeLU", 1, []),
        ("ReduceMean", -1, []),
    ]  # fmt: skip
    assert trace["ops"][0]["flops"] == 2 * 2 * 256 * 64
    net = modules.build({**trace, "batch": 2, "fed": 512}, "net", "net.py:make", "mindspore")
    assert net.parameters == 256 * 64 + 256 * 256
    assert net.input_bytes == 256


MODEL = program_text(__file__, "network_of_torch")


def test_module_of_pytorch_is_traced_without_memory(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    net = modules.read(f"{path}:make_model", sys.executable, None)
    assert net.parameters == 4 * (64 * 256 + 256 + 256 * 64 + 64)
    assert [(part.name, part.count) for part in net.parts] == [("block", 4), ("end", 1)]
    assert net.flops == pytest.approx(4 * 2 * 2 * 64 * 256, rel=0.01)


def test_models_that_cannot_be_built_are_told(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    with pytest.raises(UserError, match="cannot be built: ValueError: no weights here"):
        modules.read(f"{path}:broken", sys.executable, None)
    with pytest.raises(UserError, match="needs arguments: `width`"):
        modules.read(f"{path}:asks", sys.executable, None)
    with pytest.raises(UserError, match="returns `list`"):
        modules.read(f"{path}:wrong", sys.executable, None)
    path.write_text("import not_there_at_all\n")
    with pytest.raises(UserError, match="needs `not_there_at_all`"):
        modules.read(f"{path}:make_model", sys.executable, None)
    with pytest.raises(UserError, match="no such file"):
        modules.read(f"{tmp_path}/other.py:make_model", sys.executable, None)
    with pytest.raises(UserError, match="cannot start"):
        modules.read(f"{path}:make_model", str(tmp_path / "python"), None)
