"""Everything that is changed in MindSpore so that unedited programs run on a machine without an NPU.

On its CPU target, programs that name Ascend or GPU get the CPU: the device of `set_context` and `set_device`; `init()`,
which on the platform reads a rank table and here meets at MindSpore's own scheduler; mixed precision, which the CPU
refuses. On the emulated machine there is no operator compiler, whose package MindSpore reports missing for each device
that is chosen; graph kernels (jit_level O1) and the graph engine (O2, GE) become kernels one by one (O0); operators
that the stand-ins leave to numpy are connected; the profiler of the device records nothing. On both, the number of data
workers is at most that of this machine's cores.

Python 3.7 and the standard library only: loaded by site/sitecustomize.py in interpreters without Jumar.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import subprocess
import sys
import time
import types
from typing import Any, Callable

KERNELS = "JUMAR_MINDSPORE_KERNELS"
MEET = "JUMAR_MINDSPORE_MEET"
PORT = "JUMAR_MINDSPORE_PORT"
_CPU = "CPU"
_LEVELS = {"O1": "graph kernels (jit_level O1) are", "O2": "the graph engine (jit_level O2, backend GE) is"}
_UNBOOSTED = (
    "MindSpore's own kernels for inference (infer_boost) are not emulated: CANN's operators are used, as with "
    "infer_boost off"
)
_UNPROFILED = "MindSpore's profiler is not emulated: the program runs, and no profile is written"
_NO_AIR = "jumar: export to AIR, which the graph engine writes, is not emulated"
_PATIENCE = 60.0
_GRACE = 2.0

Change = Callable[[Any], None]


def changes(target: str) -> dict[str, Change]:
    """What is done to which module, after it has run, for a target: `CPU` or `Ascend`."""
    both = {
        "mindspore.dataset.core.validator_helpers": _accept_workers,
        "mindspore.dataset.engine.datasets": _fewer_workers,
    }
    if target != _CPU:
        return {
            **both,
            "mindspore.log": _no_compiler,
            "mindspore.version": _connect_kernels,
            "mindspore.context": _plain_context,
            "mindspore.common.jit_config": _plain_graphs,
            "mindspore.graph.jit_config": _plain_graphs,
            "mindspore.profiler.platform.npu_profiler": _no_profile,
            "mindspore.train.serialization": _no_air,
        }
    return {
        **both,
        "mindspore.context": _context,
        "mindspore.device_manager": _device,
        "mindspore.communication.management": _communication,
        "mindspore.train.amp": _single_precision_network,
        "mindspore.train.model": _single_precision_model,
    }


def _accept_workers(module: Any) -> None:
    """`num_parallel_workers=8` suits the platform; MindSpore rejects more workers than this machine has cores."""
    real = module.check_num_parallel_workers

    @functools.wraps(real)
    def check_num_parallel_workers(value: Any) -> Any:
        return None if isinstance(value, int) and value > 1 else real(value)

    module.check_num_parallel_workers = check_num_parallel_workers


def _fewer_workers(module: Any) -> None:
    real = module.Dataset.__init__

    @functools.wraps(real)
    def __init__(self: Any, *arguments: Any, **given: Any) -> None:
        real(self, *arguments, **given)
        if self.num_parallel_workers:
            self.num_parallel_workers = min(self.num_parallel_workers, os.cpu_count() or 1)

    module.Dataset.__init__ = __init__


def _connect_kernels(_: Any) -> None:
    """Operators that the stand-ins leave to Python: jumar.emulate.mindspore_ops, of which only the place is known."""
    folder = os.environ.get(KERNELS, "")
    if not folder:
        return
    above = "jumar_operators"  # so that they find jumar.emulate.formulas beside them, and nothing else of jumar
    package = sys.modules[above] = types.ModuleType(above)
    package.__path__ = [os.path.dirname(folder)]
    importlib.import_module(f"{above}.{os.path.basename(folder)}.bridge").connect()


def _plain_context(module: Any) -> None:
    """`set_context` with `jit_config`, `jit_level` or `enable_graph_kernel`."""
    context = module._Context
    own = context.setters.get("jit_config")
    if own is not None:

        def set_jit_config(self: Any, given: dict[str, Any]) -> None:
            own(self, _plain_config(given))

        context.set_jit_config = context.setters["jit_config"] = set_jit_config

    def set_jit_level(self: Any, level: str) -> None:
        self.set_param(module.ms_ctx_param.jit_level, _plain(level))

    def set_graph_kernel(self: Any, wanted: bool) -> None:
        _plain("O1" if wanted else "O0")

    context.setters.update(jit_level=set_jit_level, enable_graph_kernel=set_graph_kernel)


def _plain_graphs(module: Any) -> None:
    """`JitConfig(jit_level=...)` and `jit(backend="GE")`, which makes one."""
    config = getattr(module, "JitConfig", None)
    if config is None or config.__module__ != module.__name__:
        return
    own = config.__init__

    @functools.wraps(own)
    def __init__(self: Any, *arguments: Any, **given: Any) -> None:
        own(self, *arguments, **given)
        kept = self.jit_config_dict
        kept.update(_plain_config(kept))
        if kept.get("backend") == "GE":
            _plain("O2")
            kept.update(jit_level="O0", backend="ms_backend")

    config.__init__ = __init__


def _plain_config(given: dict[str, Any]) -> dict[str, Any]:
    """The level that is emulated, and none of the kernels that are programs for a card."""
    kept = dict(given)
    if "jit_level" in kept:
        kept["jit_level"] = _plain(kept["jit_level"])
    if kept.get("infer_boost") == "on":
        say(_UNBOOSTED)
        kept["infer_boost"] = "off"
    return kept


def _plain(level: str) -> str:
    """The level that is emulated: kernels one by one. The results are the same, the times mean nothing either way."""
    if level in _LEVELS:
        say(f"{_LEVELS[level]} not emulated: kernels run one by one, as with jit_level O0")
        return "O0"
    return level


def _no_profile(module: Any) -> None:
    """Without records of the device MindSpore's profiler ends the process at the first step."""

    def __init__(self: Any) -> None:
        say(_UNPROFILED)

    def nothing(self: Any, **_: Any) -> None:
        pass

    module.NpuProfiler.__init__ = __init__
    for name in ("start", "stop", "analyse", "finalize"):
        setattr(module.NpuProfiler, name, nothing)


def _no_air(module: Any) -> None:
    """`export(file_format="AIR")`: without the graph engine, MindSpore goes on and misses the file."""

    def _save_air(*_: Any, **__: Any) -> None:
        raise RuntimeError(_NO_AIR)

    module._save_air = _save_air


def _no_compiler(module: Any) -> None:
    """MindSpore prints the message during its import, before it could be changed."""
    missed = (
        "No module named 'te'",
        'relies on whl package "te"',
        'whl packages of "te"',
        "Can not find ccec_compiler",
    )
    module._get_logger().addFilter(lambda record: not any(text in record.getMessage() for text in missed))


@functools.lru_cache(maxsize=None)  # noqa: UP033  (Python 3.7)
def say(text: str) -> None:
    """Once for each text."""
    try:
        from jumar.runtime.tell import tell
    except Exception:  # an interpreter without Jumar, or too old for it
        sys.stderr.write(f"jumar: {text}\n")
    else:
        tell(text)


def _target(name: str) -> str:
    return _CPU if name in ("Ascend", "GPU", "Davinci") else name


def _context(module: Any) -> None:
    """`set_context` and `Context` both go through one setter of the class."""
    own = module._Context.set_device_target

    def set_device_target(self: Any, target: str) -> None:
        own(self, _target(target))

    module._Context.set_device_target = set_device_target
    module._Context.setters["device_target"] = set_device_target


def _device(module: Any) -> None:
    own = module.set_device

    @functools.wraps(own)
    def set_device(device_target: str, device_id: int | None = None) -> None:
        # The CPU has one device: the number of a card has no meaning there.
        own(_target(device_target), None if _target(device_target) == _CPU else device_id)

    module.set_device = set_device


def _single_precision_network(module: Any) -> None:
    """`amp_level="O2"` suits the platform; the CPU device computes in float32 and cannot skip steps."""
    real = module.build_train_network

    @functools.wraps(real)
    def build_train_network(network: Any, optimizer: Any, loss_fn: Any = None, *levels: Any, **given: Any) -> Any:
        return real(network, optimizer, loss_fn, **dict(_single_precision(given), level="O0"))

    module.build_train_network = build_train_network


def _single_precision_model(module: Any) -> None:
    real = module.Model.__init__

    @functools.wraps(real)
    def __init__(self: Any, *arguments: Any, **given: Any) -> None:
        real(self, *arguments, **_single_precision(given))

    module.Model.__init__ = __init__


def _single_precision(given: dict[str, Any]) -> dict[str, Any]:
    """Without what belongs to mixed precision; a loss scale that skips steps is not needed there."""
    kept = {name: value for name, value in given.items() if name not in ("amp_level", "keep_batchnorm_fp32")}
    manager = kept.get("loss_scale_manager")
    if manager is not None and manager.get_drop_overflow_update():
        del kept["loss_scale_manager"]
    return kept


def _communication(module: Any) -> None:
    own = module.init

    @functools.wraps(own)
    def init(backend_name: str | None = None) -> Any:
        if not os.environ.get("MS_ROLE"):
            _meet()
        if os.environ.get("MS_ROLE", "MS_WORKER") == "MS_WORKER":
            atexit.register(_leave_together)
        return own(None if backend_name in ("hccl", "nccl") else backend_name)

    module.init = init


def _meet() -> None:
    """As a launcher would: the variables of MindSpore's own cluster, and its scheduler on the first rank."""
    size = int(os.environ.get("RANK_SIZE", "1"))
    port = _free_port() if size == 1 else int(os.environ.get(PORT, "0"))
    if not port:
        return
    os.environ.update(
        MS_WORKER_NUM=str(size), MS_SCHED_HOST="127.0.0.1", MS_SCHED_PORT=str(port), MS_TOPO_TIMEOUT="600",
        MS_NODE_ID=os.environ.get("RANK_ID", "0"), MS_ROLE="MS_WORKER",
    )  # fmt: skip
    if os.environ["MS_NODE_ID"] == "0":
        _start_scheduler()


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start_scheduler() -> None:
    """In the process group of this rank, so that it ends with the job."""
    command = "from mindspore.communication import init; init()"
    subprocess.Popen(
        [sys.executable, "-c", command], env=dict(os.environ, MS_ROLE="MS_SCHED"),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _leave_together() -> None:
    """MindSpore's CPU device has no barrier: a rank that leaves cuts off one that is in the middle of an exchange."""
    folder = os.environ.get(MEET, "")
    if hasattr(sys, "last_type"):  # after an error the launcher ends the others
        return
    if not os.path.isdir(folder):
        if os.environ.get("MS_WORKER_NUM", "1") != "1":
            time.sleep(_GRACE)
        return
    with open(os.path.join(folder, os.environ["RANK_ID"]), "w"):
        pass
    end = time.time() + _PATIENCE
    while len(os.listdir(folder)) < int(os.environ["RANK_SIZE"]) and time.time() < end:
        time.sleep(0.05)
