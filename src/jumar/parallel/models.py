"""From what the user names to a network: a preset, a Hugging Face-style config.json, or `file.py:make_model`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.parallel.network import BYTES, Network
from jumar.tables.load import table

GPT = {"norm": "layer", "position": "learned", "activation": "gelu", "bias": True, "vocab": 50257, "tied": True}
LLAMA = {"norm": "rms", "position": "rope", "activation": "swiglu", "bias": False}
SEQUENCE = {"gpt": 2048, "llama": 2048}
EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts")
PADDING = 128
PICTURE = 3 * 224 * 224 * 4
LEARNED = ("gpt2", "opt", "gpt_bigcode", "pangu", "pangu-alpha", "gpt")
"""Model types of config.json that learn their positions."""


def presets() -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = table("parallel_models.toml")["models"]
    return rows


def preset(name: str) -> Network:
    """The network of a row of parallel_models.toml."""
    row = dict(presets()[name])
    family = row.pop("family")
    if family == "conv":
        return Network(
            name, family, row["source"], 1, row["layers"], computed="float16", input_bytes=PICTURE, sample="picture"
        )
    words: dict[str, Any] = {**(GPT if family == "gpt" else LLAMA), **row}
    if family == "mlp":
        return Network(
            name, family, row["source"], 1, row["layers"], row["hidden"], row["inner"], activation=row["activation"],
            computed="float32", input_bytes=row["hidden"] * 4, sample="row",
        )  # fmt: skip
    words.setdefault("inner", 4 * row["hidden"])
    words.setdefault("kv_heads", row["heads"])
    words.setdefault("head_dim", row["hidden"] // row["heads"])
    seq = SEQUENCE[family] if "pangu" not in name else 1024
    return _padded(Network(name=name, family=family, seq=seq, input_bytes=seq * 8, **words))


def _padded(net: Network) -> Network:
    """A vocabulary that cards cannot share is filled up, as training frameworks do."""
    if net.vocab % 8 == 0:
        return net
    wide = -(-net.vocab // PADDING) * PADDING
    return net.with_(
        vocab=wide, notes=(*net.notes, f"the vocabulary of {net.vocab} is filled up to {wide}, a multiple of {PADDING}")
    )


def from_config(path: Path) -> Network:
    """A transformer from a config.json; the words are those of transformers' configuration classes."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read `{path}`: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"not JSON: `{path}`: {error}") from error
    if not isinstance(data, dict):
        raise UserError(f"not a configuration: `{path}`", "a config.json is one object")
    kind = str(data.get("model_type", ""))
    layers, hidden, heads = (
        _number(data, path, *names)
        for names in (
            ("num_hidden_layers", "n_layer", "num_layers"),
            ("hidden_size", "n_embd", "d_model"),
            ("num_attention_heads", "n_head"),
        )
    )
    if hidden % heads and "head_dim" not in data:
        raise UserError(f"`{path}`: {heads} heads do not divide a width of {hidden}")
    gated = str(data.get("hidden_act", data.get("activation_function", "gelu"))) in ("silu", "swish", "swiglu")
    rms = "rms_norm_eps" in data or gated
    learned = kind in LEARNED or "n_positions" in data
    seq = next((int(data[key]) for key in ("max_position_embeddings", "n_positions") if data.get(key)), 2048)
    experts = next((int(data[key]) for key in EXPERTS if data.get(key)), 0)
    names = ("moe_intermediate_size", "intermediate_size", "n_inner") if experts else ("intermediate_size", "n_inner")
    inner = next((int(data[key]) for key in names if data.get(key)), 4 * hidden)
    return _padded(Network(
        name=kind or path.stem, family="llama" if gated else "gpt", source=str(path), seq=seq, layers=layers,
        hidden=hidden, inner=inner,
        heads=heads, kv_heads=int(data.get("num_key_value_heads") or heads),
        head_dim=int(data.get("head_dim") or hidden // heads), vocab=_number(data, path, "vocab_size"),
        norm="rms" if rms else "layer", position="learned" if learned else "rope",
        activation="swiglu" if gated else "relu" if data.get("activation_function") == "relu" else "gelu",
        bias=not gated, tied=bool(data.get("tie_word_embeddings", not gated)), experts=experts,
        active_experts=int(data.get("num_experts_per_tok", 2)) if experts else 0,
        computed=_dtype(data), input_bytes=seq * 8,
    ))  # fmt: skip


def _number(data: dict[str, Any], path: Path, *names: str) -> int:
    for name in names:
        value = data.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            if value < 1:
                raise UserError(f"`{path}`: `{name}` must be at least 1, not {value}")
            return value
    raise UserError(
        f"`{path}` has no `{names[0]}`", "the file must describe a transformer as Hugging Face's config.json does"
    )


def _dtype(data: dict[str, Any]) -> str:
    name = str(data.get("torch_dtype", data.get("dtype", "bfloat16"))).removeprefix("torch.")
    return name if name in BYTES else "bfloat16"


def find(word: str, interpreter: str, seq: int | None) -> Network:
    """The network that a word of the command line means."""
    if ".py:" in word:
        from jumar.parallel import modules

        return modules.read(word, interpreter, seq)
    path = Path(word)
    if path.is_dir() and (path / "config.json").is_file():
        return from_config(path / "config.json")
    if path.suffix == ".json" or path.is_file():
        if not path.exists():
            raise UserError(f"no such file: `{word}`")
        return from_config(path)
    if word.lower() in presets():
        return preset(word.lower())
    hint = did_you_mean(
        word, presets(), "`jumar parallel --list` names the presets; or give a config.json or `file.py:make_model`"
    )
    raise UserError(f"no such model: `{word}`", hint)
