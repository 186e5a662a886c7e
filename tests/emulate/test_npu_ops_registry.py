"""NPU-only operators: what is declared fits torch_npu's schemas; what is not refuses by name."""

from __future__ import annotations

from conftest import Run

_SIGNATURES = """
import inspect
import torch, torch_npu
from jumar.emulate.ops import registry

for name, entry in registry.implemented().items():
    base, _, overload = name.partition(".")
    schema = torch._C._get_schema(f"npu::{base}", overload)
    parameters = inspect.signature(entry.function).parameters
    if any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters.values()):
        continue
    ours = list(parameters.values())
    positional = [p for p in ours if p.kind is not p.KEYWORD_ONLY]
    for i, argument in enumerate(schema.arguments):
        if argument.kwarg_only:
            own = parameters[argument.name]
        else:
            own = positional[i]
        if argument.has_default_value() and not isinstance(own.default, tuple):
            assert own.default == argument.default_value, (name, argument.name, own.default)
print(len(registry.implemented()))
"""

_REFUSALS = """
import torch, torch_npu
x = torch.randn(4, 4).npu()
for call in (
    lambda: torch_npu.npu_fused_attention_layernorm_qkv_fwd(x, x, x, x, x, x),
    lambda: torch.ops.npu._npu_distribute_barrier(x, "group", 2),
):
    try:
        call()
    except NotImplementedError as error:
        print(error)
try:
    torch_npu.npu_gelu(torch.randn(4))
except NotImplementedError as error:
    print("Could not run" in str(error))
"""


def test_functions_have_the_defaults_of_the_schemas(run: Run) -> None:
    assert int(run(_SIGNATURES).stdout) > 200


def test_an_unknown_operator_refuses_by_name_and_host_tensors_stay_refused(run: Run) -> None:
    first, second, third = run(_REFUSALS).stdout.splitlines()
    assert first == (
        "npu::npu_fused_attention_layernorm_qkv_fwd is not implemented by the emulator; "
        "`jumar emulate coverage` lists what is"
    )
    assert second.startswith("npu::_npu_distribute_barrier exchanges data with other cards inside one kernel")
    assert third == "True"


def test_results_come_from_the_card_and_changes_reach_it(run: Run) -> None:
    program = """
import torch, torch_npu
before = torch.npu.memory_allocated()
x = torch.randn(256, 512).npu()
y = torch_npu.npu_swiglu(x)
assert y.device.type == "npu" and torch.npu.memory_allocated() - before >= x.nbytes + y.nbytes
cache = torch.zeros(2, 4, 8).npu()
rows = torch.ones(2, 1, 8).npu()
assert torch_npu.scatter_update_(cache, torch.tensor([1, 3]).npu(), rows, -2).data_ptr() == cache.data_ptr()
assert cache[0, 1].sum() == 8 and cache[1, 3].sum() == 8 and cache.sum() == 16
out = torch.empty(0).npu()
torch_npu.npu_broadcast(torch.ones(3).npu(), (2, 3), out=out)
assert out.shape == (2, 3)
"""
    run(program)
