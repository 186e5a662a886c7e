"""`ais_bench.infer.interface`: the `InferSession` of the vendor's inference runner, over the stand-in.

Names and modes: the runner's API guide (ait/msit benchmark). Times are those of ONNX Runtime here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jumar.core.compat import zip
from jumar.core.errors import UserError
from jumar.export.standin import feeds as given
from jumar.export.standin import gear
from jumar.export.standin import program as programs
from jumar.export.standin.description import Description, FilesTensor
from jumar.export.standin.tensor import Tensor
from jumar.runtime import variables

MODES = {"static": "static", "dymbatch": "batch", "dymhw": "image_size", "dymdims": "dims", "dymshape": "range"}

Feeds = Mapping[int, Sequence[Sequence[Any]]]
Outputs = dict[int, list[Any]]


class Summary:
    def __init__(self) -> None:
        self.exec_time_list: list[float] = []

    def reset(self) -> None:
        self.exec_time_list = []


class InferSession:
    def __init__(
        self,
        device_id: int,
        model_path: str,
        acl_json_path: str | None = None,
        debug: bool = False,
        loop: int = 1,
    ) -> None:
        cards = variables.CARDS.read() if variables.CARDS.text() else 1
        if not 0 <= device_id < cards:
            raise RuntimeError(f"there is no device {device_id}: the emulated machine has {cards}")
        self.device_id, self.model_path, self.loop = device_id, model_path, max(1, loop)
        self._summary = Summary()
        self._shapes: list[tuple[int, ...]] = []
        try:
            self.program: programs.Program | None = programs.load(Path(model_path))
        except UserError as error:
            raise RuntimeError(f"load model from file failed: {error.message}") from error

    @property
    def session(self) -> InferSession:
        """The module below, which programs print to see the model."""
        return self

    @property
    def mode(self) -> str:
        """static, batch, image_size, dims or range."""
        return self._loaded().mode

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the next run."""
        return self._shapes or gear.first(self._loaded())

    def __repr__(self) -> str:
        rows = [f"input {row}" for row in self.get_inputs()] + [f"output {row}" for row in self.get_outputs()]
        return "\n".join([f"<Model> stand-in of {self.model_path}, device {self.device_id}", *rows])

    def get_inputs(self) -> list[Description]:
        program = self._loaded()
        largest, now = gear.first(program), self.shapes
        return [
            Description(port, given.size(port, most), given.size(port, shape))
            for port, most, shape in zip(program.inputs, largest, now, strict=True)
        ]

    def get_outputs(self) -> list[Description]:
        sizes = [(port, given.size(port, port.shape)) for port in self._loaded().outputs]
        return [Description(port, size, size) for port, size in sizes]

    def set_staticbatch(self) -> None:
        self._shapes = gear.first(self._loaded())

    def set_dynamic_batchsize(self, batch: Any) -> None:
        self._shapes = gear.number(self._loaded(), "batch", (int(batch),))

    def set_dynamic_hw(self, width: int, height: int) -> None:
        """The runner's own command line gives height and width in this order, programs often the other way round."""
        self._shapes = gear.number(self._loaded(), "image_size", (int(width), int(height)), (int(height), int(width)))

    def set_dynamic_dims(self, dims: str) -> None:
        self._shapes = gear.named(self._loaded(), "dims", dims)

    def set_dynamic_shape(self, shape: str) -> None:
        self._shapes = gear.named(self._loaded(), "range", shape)

    def set_custom_outsize(self, sizes: Any) -> None:
        """Outputs have the room they need."""

    def infer(self, feeds: Any, mode: str = "static", custom_sizes: Any = 100000, out_array: bool = True) -> list[Any]:
        """Outputs as arrays for inputs as arrays or torch tensors, in the order of the model."""
        program = self._loaded()
        if mode not in MODES:
            raise RuntimeError(f"wrong infer mode: {mode}; one of {', '.join(MODES)}")
        if program.mode != MODES[mode] and not (program.mode == "range" and mode == "static"):
            wanted = next(name for name, own in MODES.items() if own == program.mode)
            raise RuntimeError(f"the model was converted for mode {wanted!r}, not {mode!r}")
        values = given.ordered(feeds, program.inputs)
        arrays = [
            given.fitted(given.array(feed, port), port, shape)
            for feed, port, shape in zip(values, program.inputs, self._expected(values))
        ]
        self._check_gear(program, arrays)
        begin = time.perf_counter()
        try:
            for _ in range(self.loop):
                found = program.execute(arrays if len(values) == len(arrays) else values)
        except UserError as error:
            raise RuntimeError(error.message) from error
        self._summary.exec_time_list.append((time.perf_counter() - begin) * 1000 / self.loop)
        return found

    def run(self, feeds: Any, out_array: bool = False) -> list[Any]:
        """As `infer`, in the mode of the model; tensors of `aclruntime` unless arrays are asked for."""
        mode = next(name for name, own in MODES.items() if own == self._loaded().mode)
        found = self.infer(feeds, mode)
        return found if out_array else [Tensor(value) for value in found]

    def infer_iteration(
        self,
        feeds: Sequence[Any],
        in_out_list: Sequence[int] | None = None,
        iteration_times: int = 1,
        mode: str = "static",
        custom_sizes: Any = 100000,
    ) -> list[Any]:
        """Runs again and again: the number at an input's place says which output of the run before it takes."""
        links = list(in_out_list or ())
        if iteration_times < 1 or len(links) not in (0, len(feeds)):
            raise RuntimeError(f"{iteration_times} iterations, {len(links)} links for {len(feeds)} inputs")
        values = list(feeds)
        found = self.infer(values, mode, custom_sizes)
        for _ in range(iteration_times - 1):
            for place, number in enumerate(links):
                if number >= len(found):
                    raise RuntimeError(f"input {place} takes output {number}, the model has {len(found)}")
                values[place] = found[number] if number >= 0 else values[place]
            found = self.infer(values, mode, custom_sizes)
        return found

    def infer_pipeline(self, feeds_list: Sequence[Sequence[Any]], mode: str = "static", custom_sizes: Any = 100000
                       ) -> list[list[Any]]:  # fmt: skip
        return [self.infer(feeds, mode, custom_sizes) for feeds in feeds_list]

    def create_tensor_from_arrays_to_device(self, array: Any) -> Any:
        return Tensor(array)

    def create_tensor_from_fileslist(self, description: Description, files: Sequence[str]) -> Tensor:
        return FilesTensor(description, files)

    def convert_tensors_to_host(self, tensors: Sequence[Tensor]) -> None:
        for tensor in tensors:
            tensor.to_host()

    def convert_tensors_to_arrays(self, tensors: Sequence[Tensor]) -> list[Any]:
        import numpy

        return [numpy.array(tensor) for tensor in tensors]

    def set_loop_count(self, loop: int) -> None:
        self.loop = max(1, loop)

    def summary(self) -> Summary:
        return self._summary

    sumary = summary

    def reset_summaryinfo(self) -> None:
        self._summary.reset()

    reset_sumaryinfo = reset_summaryinfo

    def free_resource(self) -> None:
        self.program = None

    @staticmethod
    def finalize() -> None:
        """Nothing is left to give back: `free_resource` did it."""

    def _loaded(self) -> programs.Program:
        if self.program is None:
            raise RuntimeError("the session was freed")
        return self.program

    def _expected(self, values: Sequence[Any]) -> list[tuple[int, ...]]:
        """The gear that arrays bring with them, else the one that was set."""
        own = [tuple(getattr(value, "shape", ())) for value in values]
        program = self._loaded()
        return next((at for at in map(program.at, program.gears) if at == own), self.shapes)

    @staticmethod
    def _check_gear(program: programs.Program, arrays: Sequence[Any]) -> None:
        if program.gears and not program.steps:
            shapes = [tuple(array.shape) for array in arrays]
            if not any(shapes == program.at(gear) for gear in program.gears):
                raise RuntimeError(f"the inputs fit no gear of the model: {shapes}, gears {list(program.gears)}")


class MultiDeviceSession:
    """Runs each list of inputs on its device: here one after another, as all devices are this machine."""

    def __init__(self, model_path: str, acl_json_path: str | None = None, debug: bool = False, loop: int = 1) -> None:
        self.model_path, self.loop = model_path, loop
        self.summary: dict[int, list[float]] = {}

    def infer(self, device_feeds: Feeds, mode: str = "static", custom_sizes: Any = 100000) -> Outputs:
        return self._all(device_feeds, lambda session, feeds: session.infer(feeds, mode, custom_sizes))

    def infer_pipeline(self, device_feeds_list: Feeds, mode: str = "static", custom_sizes: Any = 100000) -> Outputs:
        return self._all(device_feeds_list, lambda session, feeds: session.infer_pipeline(feeds, mode, custom_sizes))

    def infer_iteration(
        self,
        device_feeds: Feeds,
        in_out_list: Sequence[int] | None = None,
        iteration_times: int = 1,
        mode: str = "static",
        custom_sizes: Any = None,
    ) -> Outputs:
        return self._all(
            device_feeds,
            lambda session, feeds: session.infer_iteration(feeds, in_out_list, iteration_times, mode, custom_sizes),
        )

    def _all(self, device_feeds: Feeds, work: Callable[[InferSession, Any], Any]) -> Outputs:
        self.summary.clear()
        found: Outputs = {}
        for device, lists in device_feeds.items():
            session = InferSession(device, self.model_path, loop=self.loop)
            for feeds in lists:
                begin = time.perf_counter()
                found.setdefault(device, []).append(work(session, feeds))
                self.summary.setdefault(device, []).append((time.perf_counter() - begin) * 1000)
        return found


class MemorySummary:
    """Copies to and from a device: none are made here."""

    @staticmethod
    def get_h2d_time_list() -> list[float]:
        return []

    get_H2D_time_list = get_D2H_time_list = get_d2h_time_list = get_h2d_time_list

    @staticmethod
    def reset() -> None:
        """Nothing was counted."""
