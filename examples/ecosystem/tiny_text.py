"""What the examples for text share: a tiny tokenizer, sentences that count upwards, a checkpoint of random weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import transformers
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

import tiny
from transformers_trainer import model

_CHAT = "{% for message in messages %}{{ message['content'] + ' ' }}{% endfor %}"


def tokenizer() -> transformers.PreTrainedTokenizerFast:
    words = {f"w{number}": number for number in range(tiny.WORDS - 2)}
    plain = Tokenizer(WordLevel({**words, "<pad>": tiny.WORDS - 2, "<eos>": tiny.WORDS - 1}, unk_token="<pad>"))
    plain.pre_tokenizer = WhitespaceSplit()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="<pad>", eos_token="<eos>")
    fast.chat_template = _CHAT
    return fast


def text(start: int, count: int) -> str:
    return " ".join(f"w{(start + step) % (tiny.WORDS - 2)}" for step in range(count))


def write_checkpoint(folder: Path) -> str:
    """A model and its tokenizer as a hub would have them."""
    model().save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return str(folder)


def write_rows(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)
