"""Builds a user's model without allocating it and writes down its operators.

Written by Jumar (Apache-2.0) and run by `jumar parallel` in the user's Python. Arguments: file, function, batch,
sequence length or 0, folder for the result.
"""

import importlib.util
import inspect
import json
import os
import sys

SAME_WEIGHT = ("t", "transpose", "view", "detach", "_to_copy", "permute")
"""Operators whose result is still the weight they read."""


def load(path):
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def made_inputs(module, batch):
    maker = getattr(module, "make_inputs", None)
    if maker is None:
        return None
    inputs = maker(batch) if inspect.signature(maker).parameters else maker()
    return inputs if isinstance(inputs, (tuple, list)) else (inputs,)


def torch_trace(module, make, batch, seq):
    import torch

    with torch.device("meta"):
        model = make()
        if not isinstance(model, torch.nn.Module):
            return {"kind": "wrong", "type": type(model).__name__}
        inputs = made_inputs(module, batch)
    config = getattr(model, "config", None)
    if config is not None and hasattr(config, "to_dict") and hasattr(config, "hidden_size"):
        return {"kind": "config", "config": json.loads(json.dumps(config.to_dict(), default=str))}
    if inputs is None:
        inputs = torch_inputs(model, batch, seq)
    if inputs is None:
        return {"kind": "no-inputs"}
    where, ops = torch_operators(model, inputs)
    first = next(iter(model.parameters()), None)
    return {
        "kind": "trace",
        "ops": ops,
        "weights": {name: p.numel() for name, p in model.named_parameters()},
        "fed": sum(tensor.numel() * tensor.element_size() for tensor in inputs),
        "inputs": len(inputs),
        "batch": batch,
        "dtype": str(first.dtype).split(".")[-1] if first is not None else "float32",
        "where": where,
    }


def torch_inputs(model, batch, seq):
    """Zeros for the first layer that tells what it takes."""
    import torch

    kinds = (torch.nn.Embedding, torch.nn.Linear, torch.nn.Conv2d)
    first = next((m for m in model.modules() if isinstance(m, kinds)), None)
    if isinstance(first, torch.nn.Embedding):
        return (torch.zeros((batch, seq or 128), dtype=torch.long, device="meta"),)
    if isinstance(first, torch.nn.Linear):
        return (torch.zeros((batch, first.in_features), device="meta"),)
    if isinstance(first, torch.nn.Conv2d):
        return (torch.zeros((batch, first.in_channels, 224, 224), device="meta"),)
    return None


def torch_operators(model, inputs):
    """Where the list of equal layers is, and the operators of a forward pass with what each reads and makes."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    where, now = torch_blocks(model)
    names = {id(p): name for name, p in model.named_parameters()}
    keep = list(inputs)
    ids = {id(tensor): number for number, tensor in enumerate(keep)}
    rows = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            read = [t for t in tree_leaves((args, kwargs or {})) if isinstance(t, torch.Tensor)]
            made = [t for t in tree_leaves(out) if isinstance(t, torch.Tensor)]
            kind = function.overloadpacket.__name__
            weights = [names[id(t)] for t in read if id(t) in names]
            values = [ids[id(t)] for t in read if id(t) in ids and id(t) not in names]
            keep.extend(made)
            if weights and not values and kind in SAME_WEIGHT:
                names[id(made[0])] = weights[0]
                return out
            places = range(len(keep) - len(made), len(keep))
            ids.update((id(t), place) for t, place in zip(made, places))
            outputs = [[place, t.numel() * t.element_size()] for t, place in zip(made, places)]
            row = {"kind": kind, "inputs": values, "weights": weights, "outputs": outputs, "block": now["block"]}
            rows.append({"flops": flops(kind, read, made), **row})
            return out

    model.train()
    with Log():
        model(*inputs)
    return where, rows


def torch_blocks(model):
    """The name of the longest list of equal layers, and the number of the layer that runs: -1 after the last one."""
    import torch

    lists = [m for m in model.modules() if isinstance(m, (torch.nn.ModuleList, torch.nn.Sequential)) and len(m) > 1]
    lists = [m for m in lists if any(True for c in m[0].children()) and len({type(c) for c in m}) == 1] or lists
    blocks = max(lists, key=len, default=())
    now = {"block": None}

    def enter(number):
        now["block"] = number

    for number, block in enumerate(blocks):
        after = -1 if number == len(blocks) - 1 else number
        block.register_forward_pre_hook(lambda m, a, n=number: enter(n))
        block.register_forward_hook(lambda m, a, o, n=after: enter(n))
    return next((name for name, m in model.named_modules() if m is blocks), ""), now


def flops(kind, flat, outs):
    if kind in ("mm", "addmm", "bmm", "matmul") and outs:
        return 2 * outs[0].numel() * (flat[-2].shape[-1] if len(flat) > 1 else 1)
    if kind == "convolution" and len(flat) > 1:
        return 2 * outs[0].numel() * flat[1][0].numel()
    return 0


def mindspore_trace(module, make, batch, seq):
    import mindspore as ms
    import numpy as np
    from mindspore import Tensor, nn
    from mindspore.nn.utils import no_init_parameters

    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_device("CPU")
    with no_init_parameters():
        model = make()
    if not isinstance(model, nn.Cell):
        return {"kind": "wrong", "type": type(model).__name__}
    inputs = made_inputs(module, batch)
    if inputs is None:
        kinds = (nn.Embedding, nn.Dense, nn.Conv2d)
        first = next((cell for _, cell in model.cells_and_names() if isinstance(cell, kinds)), None)
        if first is None:
            return {"kind": "no-inputs"}
        if isinstance(first, nn.Embedding):
            inputs = (Tensor(np.zeros((batch, seq or 128), np.int32)),)
        elif isinstance(first, nn.Dense):
            inputs = (Tensor(np.zeros((batch, first.in_channels), np.float32)),)
        else:
            inputs = (Tensor(np.zeros((batch, first.in_channels, 224, 224), np.float32)),)
    model.set_train()
    model.compile(*inputs)
    fed = sum(int(np.prod(x.shape)) * x.itemsize for x in inputs)
    return {"kind": "ir", "fed": fed, "batch": batch}


def required(make):
    """The arguments that a function cannot do without."""
    if not callable(make):
        return []
    every = inspect.signature(make).parameters.values()
    return [p.name for p in every if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def main():
    path, function, batch, seq, folder = sys.argv[1:]
    try:
        module = load(path)
        make = getattr(module, function, None)
        if make is None:
            result = {
                "kind": "no-function",
                "names": [n for n in dir(module) if callable(getattr(module, n)) and not n.startswith("_")],
            }
        elif required(make):
            result = {"kind": "arguments", "names": required(make)}
        else:
            with open(path, encoding="utf-8") as file:
                is_mindspore = "mindspore" in file.read()
            trace = mindspore_trace if is_mindspore else torch_trace
            result = trace(module, make, int(batch), int(seq))
    except ModuleNotFoundError as error:
        result = {"kind": "missing", "name": error.name or str(error)}
    except Exception as error:
        result = {
            "kind": "error",
            "message": f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}",
        }
    with open(os.path.join(folder, "result.json"), "w", encoding="utf-8") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main()
