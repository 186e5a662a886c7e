"""From what the user names to a network: a preset, a Hugging Face-style config.json, or `file.py:make_model`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.parallel import configs, modules
from jumar.parallel.network import Network
from jumar.tables.load import table

GPT = {"norm": "layer", "position": "learned", "activation": "gelu", "bias": True, "vocab": 50257, "tied": True}
LLAMA = {"norm": "rms", "position": "rope", "activation": "swiglu", "bias": False}
SEQUENCE = {"gpt": 2048, "llama": 2048}
PICTURE = 3 * 224 * 224 * 4


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
    return Network(name=name, family=family, seq=seq, input_bytes=seq * 8, **words).padded()


def find(word: str, interpreter: str, seq: int | None) -> Network:
    """The network that a word of the command line means."""
    if ".py:" in word:
        return modules.read(word, interpreter, seq)
    path = Path(word)
    if path.is_dir() and (path / "config.json").is_file():
        return configs.read(path / "config.json", seq)
    if path.suffix == ".json" or path.is_file():
        if not path.exists():
            raise UserError(f"no such file: `{word}`")
        return configs.read(path, seq)
    if word.lower() in presets():
        return preset(word.lower())
    hint = did_you_mean(
        word, presets(), "`jumar parallel --list` names the presets; or give a config.json or `file.py:make_model`"
    )
    raise UserError(f"no such model: `{word}`", hint)
