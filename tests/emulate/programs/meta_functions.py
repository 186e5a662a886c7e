"""Runs the programs in PROGRAMS and compares each NPU-only result with torch_npu's own function for the meta device."""

import json
import os

import torch
import torch_npu  # noqa: F401
from torch.utils import _pytree as trees
from torch.utils._python_dispatch import TorchDispatchMode

compared, differences = set(), []


def as_meta(value):
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")


def described(values):
    tensors = [value for value in trees.tree_leaves(values) if isinstance(value, torch.Tensor)]
    return [(str(tensor.dtype), tuple(tensor.shape)) for tensor in tensors]


class Compared(TorchDispatchMode):
    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = operator(*args, **kwargs)
        inputs = described((args, kwargs))
        if operator.namespace != "npu" or any(kind == "torch.float64" for kind, _ in inputs):
            return result  # no kernel of the device takes float64
        try:
            wanted = operator(*trees.tree_map(as_meta, args), **trees.tree_map(as_meta, kwargs))
        except (NotImplementedError, RuntimeError, TypeError):
            return result  # torch_npu has no function for it, or one that does not fit its schema
        compared.add(str(operator))
        for pair in zip(trees.tree_leaves(result), trees.tree_leaves(wanted), strict=True):
            ours, theirs = (described(value) for value in pair)
            if ours and theirs and ours != theirs:  # a gradient that nobody asked for may be left undefined
                differences.append((str(operator), inputs, ours, theirs))
        return result


for name, text in json.loads(os.environ["PROGRAMS"]).items():
    with Compared():
        exec(compile(text, name, "exec"), {"__name__": "__main__"})
print(json.dumps([sorted(compared), differences]))
