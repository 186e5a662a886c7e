"""The words of a network: its family, sizes, dtypes and framework, as a preset, a config.json or a trace gives them."""

from __future__ import annotations

from dataclasses import dataclass

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class Architecture:
    """The words of a network; those of a transformer are zero for others."""

    name: str
    family: str
    """llama, gpt, mlp, conv, or traced."""
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
    norm: str = "rms"
    position: str = "rope"
    activation: str = "swiglu"
    bias: bool = False
    tied: bool = False
    attention: str = "plain"
    experts: int = 0
    active_experts: int = 0
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
