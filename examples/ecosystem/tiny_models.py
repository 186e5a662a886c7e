"""Tiny models of transformers by kind, with random weights and without dropout, and the rows that each is trained on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers

import tiny

Row = dict[str, torch.Tensor]
_TEXT = {
    "vocab_size": tiny.WORDS, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": tiny.LENGTH,
}  # fmt: skip
_EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2, "output_router_logits": True}
_LAYERS = {
    "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
}  # fmt: skip
_MARKS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}


def llama() -> transformers.PreTrainedModel:
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**_TEXT))


def mixtral() -> transformers.PreTrainedModel:
    return transformers.MixtralForCausalLM(transformers.MixtralConfig(**_TEXT, **_EXPERTS))


def mamba() -> transformers.PreTrainedModel:
    config = transformers.MambaConfig(
        vocab_size=tiny.WORDS, hidden_size=32, state_size=4, num_hidden_layers=2, time_step_rank=4
    )
    return transformers.MambaForCausalLM(config)


def t5() -> transformers.PreTrainedModel:
    config = transformers.T5Config(
        vocab_size=tiny.WORDS, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0,
        decoder_start_token_id=0,
    )  # fmt: skip
    return transformers.T5ForConditionalGeneration(config)


def vit() -> transformers.PreTrainedModel:
    config = transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32, patch_size=8,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=5,
    )  # fmt: skip
    return transformers.ViTForImageClassification(config)


def whisper() -> transformers.PreTrainedModel:
    config = transformers.WhisperConfig(
        vocab_size=tiny.WORDS, d_model=32, num_mel_bins=8, max_source_positions=32, max_target_positions=64,
        begin_suppress_tokens=None, **_LAYERS, **_MARKS,
    )  # fmt: skip
    return transformers.WhisperForConditionalGeneration(config)


def words(at: int, draw: torch.Generator) -> Row:
    row = (torch.randint(tiny.WORDS, (1,), generator=draw) + torch.arange(tiny.LENGTH)) % tiny.WORDS
    return {"input_ids": row, "labels": row, "attention_mask": torch.ones(tiny.LENGTH).long()}


def image(at: int, draw: torch.Generator) -> Row:
    return {"pixel_values": torch.randn(3, 32, 32, generator=draw), "labels": torch.tensor(at % 5)}


def sound(at: int, draw: torch.Generator) -> Row:
    return {"input_features": torch.randn(8, 64, generator=draw), "labels": words(at, draw)["labels"]}


_ROWS: dict[Callable[[], transformers.PreTrainedModel], Callable[[int, torch.Generator], Row]] = {
    llama: words, mixtral: words, mamba: words, t5: words, vit: image, whisper: sound,
}  # fmt: skip
NAMES = {make.__name__: make for make in _ROWS}


class Rows(torch.utils.data.Dataset):  # type: ignore[type-arg]
    def __init__(self, name: str, count: int = 32) -> None:
        self.row, self.count = _ROWS[NAMES[name]], count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, at: int) -> dict[str, Any]:
        return self.row(at, torch.Generator().manual_seed(at))


def make(name: str) -> transformers.PreTrainedModel:
    transformers.set_seed(0)
    return NAMES[name]()
