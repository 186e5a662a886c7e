"""Data sinking on the emulated machine: there is no queue from the host's data set into the graph.

MindSpore's own code for sinking runs as on a device: how often it sends, how many steps a call of the network takes,
when callbacks are called. Only the ends of the queue are changed: what a data set sends stays on the host, and a
network connected with it takes its batches from there, one by one, instead of the operator `GetNext`.

Python 3.7 and the standard library only: loaded by site/sitecustomize.py in interpreters without Jumar.
"""

from __future__ import annotations

import functools
import itertools
import types
from typing import Any, Callable

Change = Callable[[Any], None]
Say = Callable[[str], None]
_UNSUNK = "data sinking is not emulated: batches are passed to the network one by one"
_EMPTY = "the data set has no batch left; a device would wait for one until its timeout"
_MOST_ENDS = 2
_NUMBERS = itertools.count()
_QUEUES: dict[str, Queue] = {}


def changes(target: str, say: Say) -> dict[str, Change]:
    """What is done to which module, after it has run; `say` tells the user something once."""
    if target == "CPU":
        return {}
    return {
        "mindspore.train.data_sink": functools.partial(_function, say=say),
        "mindspore.train.dataset_helper": functools.partial(_helper, say=say),
        "mindspore.train.train_thor.dataset_helper": functools.partial(_sender, say=say),
    }


class Queue:
    """What `Dataset.device_que` returns, as far as MindSpore's Python asks for it."""

    def __init__(self, dataset: Any, size: int) -> None:
        self.queue_name = f"jumar-{next(_NUMBERS)}"
        self.size = size
        """Steps that a call of the network takes in graph mode."""
        self._dataset = dataset
        self._batches: Any = iter(())
        self._next: Any = None
        _QUEUES[self.queue_name] = self

    def send(self, num_epochs: int = -1) -> None:
        """From the step on that the data set begins with; without an end for -1."""
        self._batches, self._next = self._dataset.create_tuple_iterator(num_epochs=num_epochs), None

    def take(self) -> tuple[Any, ...]:
        batch = self._look()
        self._next = None
        return tuple(batch)

    def _look(self) -> Any:
        """The batch that is next. MindSpore's iterator ends after each epoch, and then goes on with the following."""
        ends = 0
        while self._next is None:
            try:
                self._next = next(self._batches)
            except StopIteration:
                ends += 1
                if ends == _MOST_ENDS:
                    raise RuntimeError(_EMPTY) from None
        return self._next

    def get_data_info(self) -> tuple[list[Any], list[list[int]]]:
        """Types and shapes of the next batch."""
        batch = [one.asnumpy() for one in self._look()]
        return [one.dtype.type for one in batch], [list(one.shape) for one in batch]

    def get_mbuf_queue_size(self) -> int:
        return 1

    def get_send_info(self) -> list[Any]:
        return []

    def get_offload_model(self, *_: Any) -> Any:
        """What a data set leaves to the device, its iterator on the host has done."""
        return types.SimpleNamespace(transform_list=[])

    def stop_send(self) -> None:
        """Nothing is on its way."""

    continue_send = release = stop_send

    def _reset(self, step: int, dataset_size: int) -> None:
        self._batches._reset(step, dataset_size)
        self._next = None


def _sender(module: Any, say: Say) -> None:
    def _exec_datagraph(exec_dataset: Any, dataset_size: int, *_: Any, **__: Any) -> Queue:
        say(_UNSUNK)
        return Queue(exec_dataset, dataset_size)

    module._exec_datagraph = _exec_datagraph


def _helper(module: Any, say: Say) -> None:
    """`DatasetHelper` and `connect_network_with_dataset`, which `Model` uses too."""
    _sender(module, say)
    wrapper = module._DataWrapper
    modes = module.context

    def __call__(self: Any) -> Any:
        queue = _QUEUES[self.get_next.shared_name]
        out = None
        for _ in range(1 if modes.get_context("mode") == modes.PYNATIVE_MODE else queue.size):
            out = self.network(*queue.take())
        return out

    def compile(self: Any) -> Any:
        return self.network.compile(*module._construct_tensor_list(*self.info))

    wrapper.__call__, wrapper.compile = __call__, compile


def _function(module: Any, say: Say) -> None:
    """`data_sink`: its function runs `sink_size` times a call, and the data set begins again where it ends."""
    own = module.data_sink

    @functools.wraps(own)
    def data_sink(
        fn: Any, dataset: Any, sink_size: int = 1, jit_config: Any = None, input_signature: Any = None
    ) -> Any:
        module.Validator.check_positive_int(sink_size, "sink_size")
        if hasattr(dataset, "__transfer_dataset__"):
            raise ValueError("The dataset has been used with network.")
        say(_UNSUNK)
        if input_signature is not None:
            kinds, shapes = module._get_types_and_shapes(dataset)
            module._check_inputs(input_signature, shapes, kinds)
        queue = dataset.__transfer_dataset__ = Queue(dataset, sink_size)
        queue.send(-1)
        run = fn if jit_config is None else _compiled(module, fn, jit_config)

        @functools.wraps(fn)
        def sink_process(*_: Any, **__: Any) -> Any:
            out = None
            for _step in range(sink_size):
                out = run(*queue.take())
            return out

        return sink_process

    module.data_sink = data_sink


def _compiled(module: Any, function: Any, config: Any) -> Any:
    newer = getattr(module, "_get_jit_func", None)
    return module.jit(function, jit_config=config) if newer is None else newer(function, config)
