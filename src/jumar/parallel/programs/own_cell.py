"""Trains a user's MindSpore cell with a data-parallel plan, for the dry run.

Written by Jumar (Apache-2.0) for `jumar parallel file.py:make_model --prove 1`. One argument: the plan as JSON.
"""

import importlib.util
import inspect
import json
import os
import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from mindspore.communication import init
from mindspore.nn.utils import no_init_parameters
from mindspore.parallel.auto_parallel import AutoParallel


def load(path):
    sys.path.insert(0, os.path.dirname(path))
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def inputs_of(module, net, batch, seq):
    maker = getattr(module, "make_inputs", None)
    if maker is not None:
        made = maker(batch) if inspect.signature(maker).parameters else maker()
        return made if isinstance(made, (tuple, list)) else (made,)
    kinds = (nn.Embedding, nn.Dense, nn.Conv2d)
    first = next(cell for _, cell in net.cells_and_names() if isinstance(cell, kinds))
    if isinstance(first, nn.Embedding):
        return (Tensor(np.zeros((batch, seq or 128), np.int32)),)
    if isinstance(first, nn.Dense):
        return (Tensor(np.zeros((batch, first.in_channels), np.float32)),)
    return (Tensor(np.zeros((batch, first.in_channels, 224, 224), np.float32)),)


def main():
    given = json.loads(sys.argv[1])
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_device("Ascend", 0)
    init()
    module = load(given["file"])
    with no_init_parameters():
        net = getattr(module, given["function"])()
        kinds = {
            "adam": nn.Adam,
            "adamw": nn.AdamWeightDecay,
            "momentum": lambda p: nn.Momentum(p, 0.1, 0.9),
            "sgd": lambda p: nn.SGD(p, 0.1),
        }
        optimizer = kinds[given["optimizer"]](net.trainable_params())
    if given["recompute"]:
        lists = [cell for _, cell in net.cells_and_names() if isinstance(cell, (nn.CellList, nn.SequentialCell))]
        for block in max(lists, key=len, default=()):
            block.recompute()
    parallel = AutoParallel(nn.TrainOneStepCell(net, optimizer), "semi_auto")
    parallel.dataset_strategy("full_batch")
    if given["optimizer_shard"]:
        parallel.hsdp(optimizer_level=f"level{given['optimizer_shard']}")
    parallel.no_init_parameters_in_compile()
    parallel(*inputs_of(module, net, given["global_batch"], given["seq"]))


if __name__ == "__main__":
    main()
