"""Trains the generated network `train.py` beside it for three steps on seeded weights, and prints the losses."""

import contextlib

import mindspore as ms
import numpy as np
import train
from mindspore.parallel.auto_parallel import AutoParallel

train.no_init_parameters = contextlib.nullcontext
AutoParallel.no_init_parameters_in_compile = lambda self: None
ms.set_seed(1)
step, _ = train.build(train.GIVEN)
ids = ms.Tensor(np.random.default_rng(3).integers(0, train.GIVEN["vocab"], (train.GIVEN["global_batch"], 64)), ms.int32)
for _ in range(3):
    print("loss", step(ids, ids), flush=True)
