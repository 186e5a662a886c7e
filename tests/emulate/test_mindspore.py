"""The published MindSpore wheel with its own Ascend plug-in on the stand-ins; and on its CPU target."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

Start = Callable[..., subprocess.CompletedProcess[str]]
_TOOLS = Path(__file__).resolve().parents[2] / "tools"

INSTALLATION = """
import numpy as np
import mindspore as ms
import mindspore.nn as nn
from mindspore import Tensor, context, ops
context.set_context(mode=context.GRAPH_MODE, device_target="Ascend")
class Mul(nn.Cell):
    def __init__(self):
        super().__init__()
        self.mul = ops.Mul()
    def construct(self, x, y):
        return self.mul(x, y)
x = Tensor(np.array([1.0, 2.0, 3.0]).astype(np.float32))
y = Tensor(np.array([4.0, 5.0, 6.0]).astype(np.float32))
print("mul", Mul()(x, y))
ones = Tensor(np.ones([1, 3, 3, 4]).astype(np.float32))
print("add", float(ops.add(ones, ones).asnumpy().sum()), ms.get_context("device_target"))
ms.run_check()
image = Tensor(np.ones((1, 2, 4, 4), np.float32))
for refused in (lambda: ops.adaptive_max_pool2d(image, 2), lambda: ops.LRN()(image)):  # a call, and an operator by type
    try:
        refused().asnumpy()
    except RuntimeError as error:
        print("refused", error)
data = ms.dataset.NumpySlicesDataset({"x": np.ones((8, 2), np.float32), "y": np.ones((8, 1), np.float32)}).batch(2)
net = nn.Dense(2, 1)
model = ms.Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), 0.1, 0.5), metrics={"loss"})
steps = []
class Steps(ms.Callback):
    def on_train_step_end(self, run_context):
        steps.append(run_context.original_args().cur_step_num)
model.train(4, data, callbacks=[Steps()], dataset_sink_mode=True, sink_size=2)
print("sunk", steps, float(model.eval(data, dataset_sink_mode=True)["loss"]) < 1)
"""

TRAINING = """
import json
import sys
import numpy as np
import mindspore as ms
from mindspore import nn, Tensor
target = sys.argv[1]
ms.set_context(device_target=target)

class LeNet5(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid")
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)
        self.relu, self.flatten = nn.ReLU(), nn.Flatten()
        self.pool = nn.MaxPool2d(kernel_size=2, stride=2)
    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.flatten(self.pool(self.relu(self.conv2(x))))
        return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x)))))

def mlp():
    return nn.SequentialCell(nn.Flatten(), nn.Dense(1024, 32), nn.ReLU(), nn.Dense(32, 10))

OLD = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
CASES = {
    "lenet, graph, Momentum": (LeNet5, ms.GRAPH_MODE, OLD, lambda p: nn.Momentum(p, 0.01, 0.9)),
    "lenet, pynative, Adam": (LeNet5, ms.PYNATIVE_MODE, nn.CrossEntropyLoss(), lambda p: nn.Adam(p, 1e-3)),
    "mlp, graph, Adam": (mlp, ms.GRAPH_MODE, nn.CrossEntropyLoss(), lambda p: nn.Adam(p, 1e-3)),
    "mlp, graph, SGD": (mlp, ms.GRAPH_MODE, OLD, lambda p: nn.SGD(p, 0.01, momentum=0.9, weight_decay=1e-3)),
}
results = {}
for name, (make, mode, loss, optimizer) in CASES.items():
    ms.set_context(mode=mode)
    rng = np.random.RandomState(0)
    x = Tensor(rng.randn(4, 1, 32, 32).astype(np.float32))
    y = Tensor(rng.randint(0, 10, 4).astype(np.int32))
    net = make()
    for p in net.get_parameters():
        p.set_data(Tensor((rng.randn(*p.shape) * 0.1).astype(np.float32)))
    step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer(net.trainable_params()))
    step.set_train()
    losses = [float(step(x, y).asnumpy()) for _ in range(3)]
    results[name] = [*losses, float(sum(np.abs(p.asnumpy()).sum() for p in net.trainable_params()))]
print(json.dumps(results))
"""

NETWORKS = """
import json
import sys
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
target, mode = sys.argv[1:3]
ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE, device_target=target)

class Residual(nn.Cell):
    def __init__(self, into, out, step):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(into, out, 3, stride=step), nn.BatchNorm2d(out)
        self.conv2, self.norm2 = nn.Conv2d(out, out, 3), nn.BatchNorm2d(out)
        self.short = nn.SequentialCell(nn.Conv2d(into, out, 1, stride=step), nn.BatchNorm2d(out))
        self.relu = nn.ReLU()
    def construct(self, x):
        return self.relu(self.norm2(self.conv2(self.relu(self.norm1(self.conv1(x))))) + self.short(x))

class ResNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.relu = nn.Conv2d(3, 8, 7, stride=2), nn.BatchNorm2d(8), nn.ReLU()
        self.pool = nn.MaxPool2d(3, 2, pad_mode="same")
        self.body = nn.SequentialCell(Residual(8, 8, 1), Residual(8, 16, 2))
        self.mean, self.flatten, self.head = ops.ReduceMean(keep_dims=True), nn.Flatten(), nn.Dense(16, 10)
        self.loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    def construct(self, x, y):
        x = self.body(self.pool(self.relu(self.norm(self.conv(x)))))
        return self.loss(self.head(self.flatten(self.mean(x, (2, 3)))), y)

class Transformer(nn.Cell):
    def __init__(self, width=16, heads=2, size=8, words=50):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(size, width)
        self.qkv, self.out = nn.Dense(width, 3 * width), nn.Dense(width, width)
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.wide = nn.SequentialCell(nn.Dense(width, 4 * width), nn.GELU(), nn.Dense(4 * width, width))
        self.head, self.loss = nn.Dense(width, words, has_bias=False), nn.CrossEntropyLoss()
        self.heads, self.width, self.size = heads, width, size
        self.mask = ops.tril(ops.ones((size, size), ms.float32))
        self.at = Tensor(np.arange(size).astype(np.int32))
        self.left, self.right = ops.BatchMatMul(transpose_b=True), ops.BatchMatMul()
    def split(self, x):
        return x.reshape(-1, self.size, self.heads, self.width // self.heads).transpose(0, 2, 1, 3)
    def construct(self, x, y):
        x = self.words(x) + self.places(self.at)
        q, k, v = ops.split(self.qkv(self.norm1(x)), self.width, -1)
        score = self.left(self.split(q).astype(ms.float16), self.split(k).astype(ms.float16)).astype(ms.float32)
        score = ops.softmax(score / 2.8 + (1 - self.mask) * -10000.0, -1)
        joined = self.right(score, self.split(v)).transpose(0, 2, 1, 3).reshape(-1, self.size, self.width)
        x = x + self.out(joined)
        x = x + self.wide(self.norm2(x))
        return self.loss(self.head(x).reshape(-1, 50), y.reshape(-1))

class Clipped(nn.TrainOneStepCell):
    def construct(self, *inputs):
        loss = self.network(*inputs)
        grads = ops.clip_by_global_norm(self.grad(self.network, self.weights)(*inputs, ops.ones_like(loss)), 0.5)
        return ops.depend(loss, self.optimizer(grads))

rng = np.random.RandomState(1)
IMAGES = (Tensor(rng.randn(4, 3, 32, 32).astype(np.float32)), Tensor(rng.randint(0, 10, 4).astype(np.int32)))
WORDS = tuple(Tensor(rng.randint(0, 50, (2, 8)).astype(np.int32)) for _ in range(2))
CASES = {
    "resnet": (ResNet, IMAGES, nn.TrainOneStepCell, lambda p: nn.Momentum(p, 0.01, 0.9, weight_decay=1e-4)),
    "transformer": (Transformer, WORDS, Clipped, lambda p: nn.AdamWeightDecay(p, 1e-2)),
}
results = {}
for name, (make, data, stepper, optimizer) in CASES.items():
    rng.seed(2)
    net = make()
    for p in net.trainable_params():
        if "norm" not in p.name:
            p.set_data(Tensor((rng.randn(*p.shape) * 0.1).astype(np.float32)))
    step = stepper(net, optimizer(net.trainable_params()))
    step.set_train()
    figures = [float(step(*data).asnumpy()) for _ in range(3)]
    net.set_train(False)
    results[name] = [*figures, float(net(*data).asnumpy())]
if target == "Ascend":
    ms.set_seed(7)
    kept = nn.Dropout(p=0.25).set_train()(ops.ones((64, 64), ms.float32)).asnumpy()
    results["dropout"] = [float((kept == 0).mean()), float(kept.max())]
    net = nn.WithLossCell(nn.Dense(4, 2), nn.MSELoss())
    scaling = nn.DynamicLossScaleUpdateCell(2**4, 2, 100)
    step = nn.TrainOneStepWithLossScaleCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9), scaling)
    given = [Tensor(np.full((3, 4), size, np.float32)) for size in (1.0, 1e30, 1.0)]
    results["loss scale"] = [float(step(one, ops.zeros((3, 2), ms.float32))[2].asnumpy()) for one in given]
print(json.dumps(results))
"""

SHARDED = """
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.communication import init
ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", device_num=8, full_batch=True)
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.zeros((1024, 1024), np.float32)))
        self.m = ops.MatMul().shard(((1, 8), (8, 1)))
        self.s = ops.ReduceSum()
    def construct(self, x):
        return self.s(self.m(x, self.w))
net = Net()
step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 1e-3))
step(Tensor(np.zeros((1024, 1024), np.float32)))
"""

PARALLEL = """
import sys
import numpy as np
import mindspore as ms
from mindspore import nn, Tensor
from mindspore.communication import get_group_size, get_rank, init
ms.set_device("Ascend", 5)
rank, size = 0, 1
if "single" not in sys.argv:
    init("hccl")
    rank, size = get_rank(), get_group_size()
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, device_num=size)
rng = np.random.RandomState(0)
x, y = rng.randn(8, 16).astype(np.float32), rng.randint(0, 4, 8).astype(np.int32)
net = nn.SequentialCell(nn.Dense(16, 32), nn.ReLU(), nn.Dense(32, 4))
for p in net.get_parameters():
    p.set_data(Tensor((rng.randn(*p.shape) * 0.1).astype(np.float32)))
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), opt)
step.set_train()
part = slice(rank * 8 // size, (rank + 1) * 8 // size)
for _ in range(5):
    step(Tensor(x[part]), Tensor(y[part]))
print("weights %.5f" % sum(np.abs(p.asnumpy()).sum() for p in net.trainable_params()))
"""


@pytest.fixture(scope="module")
def python(built: None, mindspore: str) -> str:
    return mindspore


@pytest.fixture
def start(python: str, machine: str, tmp_path: Path) -> Start:
    def call(program: str, *words: str, options: tuple[str, ...] = (), check: bool = True, **variables: str) -> object:
        (tmp_path / "program.py").write_text(textwrap.dedent(program))
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("JUMAR_", "ASCEND", "RANK"))}
        done = subprocess.run(
            [sys.executable, "-m", "jumar", "run", *options, "--python", python, *(words or ["program.py"])],
            env={**clean, "JUMAR_MACHINE": machine, "JUMAR_EMULATE": "1", **variables},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=500,
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    return call  # type: ignore[return-value]


def test_installation_checks_of_the_guides(start: Start) -> None:
    done = start(INSTALLATION)
    said = done.stdout
    assert "CRITICAL" not in done.stderr and done.stderr.count("jumar: data sinking is not emulated") == 1
    assert "sunk [1, 2, 3, 4, 5, 6, 7, 8] True" in said
    assert "mul [ 4. 10. 18.]" in said
    assert "add 72.0 Ascend" in said
    assert "installed on platform [Ascend] successfully" in said
    assert "refused aclnnAdaptiveMaxPool2dGetWorkspaceSize call failed" in said
    assert "refused OperatorFactory is not exist, op type: LRN" in said
    assert "jumar: `aclnnAdaptiveMaxPool2dGetWorkspaceSize` is not emulated (state: refused)" in said


def test_training_is_that_of_the_cpu(start: Start) -> None:
    results = {}
    for target in ("Ascend", "CPU"):
        said = start(TRAINING, "program.py", target, DNNL_MAX_CPU_ISA="AVX2").stdout
        results[target] = json.loads(said.splitlines()[-1])
    assert results["Ascend"].keys() == results["CPU"].keys()
    for name, figures in results["Ascend"].items():
        assert figures == pytest.approx(results["CPU"][name], rel=2e-5), name
        assert figures[2] < figures[0], name


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["graph", "pynative"])
def test_networks_train_as_on_the_cpu(start: Start, mode: str) -> None:
    results = {}
    for target in ("Ascend", "CPU"):
        said = start(NETWORKS, "program.py", target, mode, DNNL_MAX_CPU_ISA="AVX2").stdout
        results[target] = json.loads(said.splitlines()[-1])
    for name in results["CPU"]:
        assert results["Ascend"][name] == pytest.approx(results["CPU"][name], rel=1e-2), name  # float16 inside
        assert results["Ascend"][name][2] < results["Ascend"][name][0], name
    dropped, largest = results["Ascend"]["dropout"]
    assert dropped == pytest.approx(0.25, abs=0.03) and largest == pytest.approx(1 / 0.75)
    assert results["Ascend"]["loss scale"] == [16, 8, 8]


@pytest.mark.slow
def test_two_emulated_npus_train_as_one(start: Start, tmp_path: Path) -> None:
    program = PARALLEL.replace(
        'ms.set_device("Ascend", 5)', 'ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")'
    )
    single = start(program, "program.py", "single").stdout.splitlines()[-1]
    assert single.startswith("weights ")
    start(program, "msrun", "--worker_num=2", "--local_worker_num=2", "--join=True", "--log_dir=logs",
          f"--master_port={_free_port()}", "program.py", options=("--cards", "2"))  # fmt: skip
    for rank in range(2):
        assert single in (tmp_path / "logs" / f"worker_{rank}.log").read_text(encoding="utf-8")


def test_dry_run_tells_memory_and_collectives(start: Start, tmp_path: Path) -> None:
    variables = {"MS_SIMULATION_LEVEL": "1", "RANK_SIZE": "8", "RANK_ID": "0", "MS_DEV_SAVE_GRAPHS": "2"}
    done = start(SHARDED, **variables, MS_DEV_SAVE_GRAPHS_PATH=str(tmp_path / "graphs"))
    peak = re.search(r"Used peak memory usage \(without fragments\): (\d+)M", done.stderr + done.stdout)
    assert peak is not None and int(peak[1]) > 0
    (orders,) = (tmp_path / "graphs").rglob("comm_execute_order.csv")
    assert "AllReduce" in orders.read_text(encoding="utf-8")


def test_data_parallel_on_the_cpu_is_exact(start: Start, tmp_path: Path) -> None:
    options = ("--on", "cpu")
    single = start(PARALLEL, "program.py", "single", options=options).stdout.splitlines()[-1]
    assert single.startswith("weights ")
    start(PARALLEL, "msrun", "--worker_num=2", "--local_worker_num=2", "--join=True", "--log_dir=logs",
          f"--master_port={_free_port()}", "program.py", options=options)  # fmt: skip
    for rank in range(2):
        assert single in (tmp_path / "logs" / f"worker_{rank}.log").read_text(encoding="utf-8")


def test_lists_cover_the_wheel(python: str) -> None:
    where = [python, "-c", "import importlib.util as u; print(u.find_spec('mindspore').submodule_search_locations[0])"]
    package = subprocess.run(where, capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    command = [sys.executable, str(_TOOLS / "mindspore_symbols.py"), package, "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout
    assert ", 0 not covered" in done.stderr


def _free_port() -> int:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
