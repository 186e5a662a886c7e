import inspect

import torch
import torch_npu  # noqa: F401

from jumar.emulate.torch_ops import registry
from jumar.tables import operators

for name, entry in registry.implemented().items():
    if name.startswith(operators.COMPANIONS):
        continue  # vllm_operators.py calls them by their schemas
    base, _, overload = name.partition(".")
    schema = torch._C._get_schema(base if "::" in base else f"npu::{base}", overload)
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
