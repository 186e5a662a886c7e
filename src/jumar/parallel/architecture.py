"""The words of a network: its family, sizes, dtypes and framework, as a preset, a config.json or a trace gives them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


class Latent(NamedTuple):
    """Latent attention as in DeepSeek: queries, keys and values come from narrow vectors of each token."""

    query_rank: int
    """0: queries have a projection of full rank."""
    key_rank: int
    plain: int
    """Width of a head's query and key without a position."""
    rotated: int
    """Width of the part with a position; all heads share that of the key."""
    value: int

    @property
    def head(self) -> int:
        return self.plain + self.rotated


class Picture(NamedTuple):
    """The input of a vision transformer: a square picture that is cut into square patches, one token each."""

    side: int
    patch: int
    channels: int = 3
    class_token: bool = True
    """Is there one more token that the classes are read from? Otherwise they are read from the mean of all."""

    @property
    def patches(self) -> int:
        return (self.side // self.patch) ** 2

    @property
    def tokens(self) -> int:
        return self.patches + self.class_token

    @property
    def bytes(self) -> int:
        """Of one picture as it is fed: float32."""
        return self.channels * self.side**2 * 4


@dataclass(frozen=True)
class Architecture:
    """The words of a network; those of a transformer are zero for others."""

    name: str
    family: str
    """llama, gpt, vit, mlp, conv, or traced."""
    source: str
    seq: int
    """Tokens of a sample; 1 where a sample is one row or one picture."""
    layers: int
    hidden: int = 0
    inner: int = 0
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    vocab: int = 0
    """Classes of a vision transformer."""
    norm: str = "rms"
    position: str = "rope"
    activation: str = "swiglu"
    bias: bool = False
    tied: bool = False
    attention: str = "plain"
    experts: int = 0
    active_experts: int = 0
    shared_inner: int = 0
    """Width of the experts that every token goes to, all together."""
    dense_layers: int = 0
    """Layers without experts before those that have them."""
    dense_inner: int = 0
    latent: Latent | None = None
    """Ranks and widths of latent attention; None for projections of full rank."""
    picture: Picture | None = None
    """What a vision transformer sees; None for text."""
    computed: str = "bfloat16"
    kept: str = "float32"
    framework: str = "mindspore"
    blocks: str = ""
    """Where the list of equal layers is in a traced module, such as `transformer.h`."""
    input_bytes: int = 4
    """Bytes of one sample as it is fed."""
    sample: str = "sequence"
    fed_seq: int = 0
    """Tokens that a traced model was fed, 0 if it was not asked for."""
    notes: tuple[str, ...] = ()
