"""What a network is for the planner: a start, equal or different layers, an end; each a tape of operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

from jumar.parallel.tape import Tape

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class Layer:
    """One or more equal layers in a row."""

    name: str
    tape: Tape
    count: int = 1


@dataclass(frozen=True)
class Network:
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
    traced: tuple[Layer, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def parts(self) -> tuple[Layer, ...]:
        """Start, blocks and end, in order."""
        if self.traced:
            return self.traced
        from jumar.parallel import conv, transformer

        makers: dict[str, Callable[[Network], tuple[Layer, ...]]] = {"conv": conv.parts, "mlp": transformer.stack}
        return makers.get(self.family, transformer.parts)(self)

    @cached_property
    def parameters(self) -> int:
        return sum(part.count * part.tape.elements() for part in self.parts)

    @cached_property
    def flops(self) -> int:
        """Of the forward pass for one sample."""
        return sum(part.count * op.flops for part in self.parts for op in part.tape.ops)

    def with_(self, **changes: object) -> Network:
        return replace(self, **changes)  # type: ignore[arg-type]
