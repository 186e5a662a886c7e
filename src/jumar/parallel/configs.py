"""A transformer from a Hugging Face-style config.json: key names differ by model type, see parallel_configs.toml."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jumar.core.errors import UserError
from jumar.parallel import config_layers
from jumar.parallel.architecture import BYTES, Latent, Picture
from jumar.parallel.config_file import ConfigFile
from jumar.parallel.network import Network
from jumar.tables.load import table

CLASSES = 1000
"""Of a vision model whose file names none: those of ImageNet."""
LONGEST = 4096
"""Tokens of a sample when the file allows more and the user names none."""
GATED = ("silu", "swish", "swiglu", "geglu")
HINT = "the file must describe a transformer as Hugging Face's config.json does"


def read(path: Path, seq: int | None = None) -> Network:
    """The network of a file; the notes are for the sequence that is asked for."""
    return network(ConfigFile(path), seq)


def network(file: ConfigFile, seq: int | None = None) -> Network:
    return _Config(file, seq).network().padded()


class _Config:
    def __init__(self, file: ConfigFile, seq: int | None) -> None:
        self.file, self.path, self.asked, self.notes = file, file.path, seq, file.notes
        rows = table("parallel_configs.toml")
        self.keys: dict[str, list[str]] = rows["keys"]
        self.kind, self.get = file.kind, file.get
        reason = rows["refused"].get(file.whole) or rows["refused"].get(self.kind)
        reason = reason or (self.get("is_encoder_decoder") and "has an encoder and a decoder")
        reason = reason or config_layers.strange(file) or file.wrong()
        if reason:
            name = (file.whole if rows["refused"].get(file.whole) else self.kind) or "this model"
            raise UserError(f"`{self.path}`: `{name}` {reason}, which is not modelled")
        file.fill(self.keys)
        self.depths = {file.data.get(key) for key in self.keys["layers"]}
        """A list with a number for each layer counts as one number if all are the same."""
        self.type: dict[str, Any] = rows["types"].get(self.kind, {})

    def network(self) -> Network:
        layers, hidden, heads = (self.number(name) for name in ("layers", "hidden", "heads"))
        picture = self.picture()
        vocab = self.classes() if picture else self.number("vocab")
        kv_heads = 1 if self.one_key_head() else self.number("kv_heads", heads)
        head_dim = self.number("head_dim", 0)
        if hidden % heads and not head_dim and not self.latent():
            raise UserError(f"`{self.path}`: {heads} heads do not divide a width of {hidden}")
        if heads % kv_heads:
            raise UserError(f"`{self.path}`: {kv_heads} key heads do not divide {heads} heads")
        acts = ("hidden_act", "activation_function", "hidden_activation")
        act = next((str(self.get(key)) for key in acts if self.get(key)), "")
        gated = self.type.get("gated", act in GATED or "rms_norm_eps" in self.file.data)
        experts = self.experts()
        dense = self.dense(layers) if experts else 0
        seq = picture.tokens if picture else self.length()
        return Network(
            name=self.kind or self.path.stem, family="vit" if picture else "llama" if gated else "gpt",
            source=str(self.path), seq=seq, layers=layers, hidden=hidden, inner=self.inner(hidden, experts),
            heads=heads, kv_heads=kv_heads,
            head_dim=head_dim or hidden // heads, vocab=vocab,
            norm=self.type.get("norm", "rms" if "rms_norm_eps" in self.file.data or gated else "layer"),
            position=self.type.get("position", "learned" if "n_positions" in self.file.data or picture else "rope"),
            activation="swiglu" if gated else "relu" if act == "relu" else "gelu",
            bias=bool(self.type.get("bias", not gated)),
            tied=not picture and self.tied(gated),
            experts=experts, active_experts=min(experts, self.number("active_experts", 2)) if experts else 0,
            shared_inner=self.shared() if experts else 0, dense_layers=dense,
            dense_inner=self.plain("intermediate_size") if dense else 0, latent=self.latent(),
            picture=picture, computed=self.dtype(), input_bytes=picture.bytes if picture else seq * 8,
            sample="picture" if picture else "sequence", notes=(*self.notes, *self.remarks(), *self.file.doubts()),
        )  # fmt: skip

    def number(self, name: str, default: int | None = None) -> int:
        """The first of the keys that the file has; a default of None asks for one."""
        self.file.used.update(self.keys[name])
        for key in self.keys[name]:
            value = self.get(key)
            if isinstance(value, list) and len(value) in self.depths and all(one == value[0] for one in value):
                value = value[0]
            if value is None:
                continue
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if isinstance(value, bool) or not isinstance(value, int):
                raise UserError(f"`{self.path}`: `{key}` must be a whole number, not {json.dumps(value)[:40]}")
            if value < 1 and default is None:
                raise UserError(f"`{self.path}`: `{key}` must be at least 1, not {value}")
            return value if value > 0 else default or 0
        if default is None:
            raise UserError(f"`{self.path}` has no `{self.keys[name][0]}`", HINT)
        return default

    def experts(self) -> int:
        """Experts of a layer; a file that names them in words of its own is refused rather than read as dense."""
        found = self.number("experts", 0)
        unknown = [key for key, value in self.file.data.items() if key.endswith("experts") and _many(value)]
        if not found and unknown:
            raise UserError(f"`{self.path}`: `{unknown[0]}` is not known", f"known: {', '.join(self.keys['experts'])}")
        return found

    def one_key_head(self) -> bool:
        """Falcon's newer layers name their key heads although they say `multi_query`."""
        return bool(self.get("multi_query")) and not self.get("new_decoder_architecture")

    def dense(self, layers: int) -> int:
        """Layers without experts before those that have them."""
        rows = config_layers.with_experts(self.file, layers, self.number("dense_layers", 0))
        first = rows.index(True) if True in rows else layers
        if not all(rows[first:]) or first == layers:
            raise UserError(f"`{self.path}`: `{self.kind}` has layers with and without experts in turn, which is not "
                            "modelled")  # fmt: skip
        return first

    def inner(self, hidden: int, experts: int) -> int:
        self.file.used.update(self.keys["inner"])
        if experts and self.get("moe_intermediate_size"):
            self.keys = {**self.keys, "inner": ["moe_intermediate_size"]}
        wide = self.number("inner", 4 * hidden)
        return wide // 2 if self.type.get("inner_halves") else wide

    def plain(self, key: str) -> int:
        """A number that only some models have; 0 without it."""
        value = self.get(key)
        return value if isinstance(value, int) and value > 0 else 0

    def shared(self) -> int:
        """The width of all shared experts together."""
        if self.type.get("shares_one"):
            return self.number("inner")
        return self.plain("shared_expert_intermediate_size") or self.number("shared", 0) * self.number("inner", 0)

    def tied(self, gated: bool) -> bool:
        return bool(self.get("tie_word_embeddings", self.type.get("tied", not gated and not self.type)))

    def picture(self) -> Picture | None:
        """What a vision transformer sees; None for a model with a vocabulary."""
        words = any(self.get(key) for key in self.keys["vocab"])
        if words and "image_size" in self.file.data:
            words = any(self.get(key) for key in self.keys["seq"])
        if words or "patch_size" not in self.file.data:
            return None
        return Picture(self.number("side"), self.number("patch"), self.number("channels", 3),
                       bool(self.type.get("class_token", True)))  # fmt: skip

    def classes(self) -> int:
        names = self.get("id2label")
        found = self.plain("num_labels") or (len(names) if isinstance(names, dict) else 0)
        if not found:
            self.notes.append(f"the file names no classes (`id2label`): {CLASSES} are assumed")
        return found or CLASSES

    def latent(self) -> Latent | None:
        keys = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
        found = Latent(*map(self.plain, keys))
        return found if all(found[1:]) else None

    def length(self) -> int:
        most = self.number("seq", 2048)
        if self.asked:
            if self.asked > most:
                self.notes.append(f"{self.asked} tokens are more than the {most} that the file allows")
        elif most > LONGEST:
            self.notes.append(f"{LONGEST} of the {most} tokens that the file allows are used; `--seq` changes it")
        return min(most, LONGEST)

    def dtype(self) -> str:
        name = str(self.get("torch_dtype") or self.get("dtype") or "bfloat16").removeprefix("torch.")
        return name if name in BYTES else "bfloat16"

    def remarks(self) -> list[str]:
        """What the file has and the model leaves out."""
        said = []
        if self.kind in ("bert", "roberta"):
            said.append("an encoder is counted as a decoder of the same size")
        if self.get("kv_lora_rank") and self.latent() is None:
            said.append("latent attention (`kv_lora_rank`) without its widths is counted as plain attention")
        if self.plain("index_topk"):
            said.append("attention to chosen tokens (`index_topk`) is counted as attention to all")
        if self.plain("num_nextn_predict_layers"):
            said.append("layers that predict further tokens (`num_nextn_predict_layers`) are not counted")
        return said


def _many(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 1
