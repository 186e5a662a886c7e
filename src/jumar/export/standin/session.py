"""`ais_bench.infer.interface`: the `InferSession` of the vendor's inference runner, over the stand-in.

Names and modes: the runner's API guide (ait/msit benchmark). Times are those of ONNX Runtime here.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jumar.core.errors import UserError
from jumar.export.standin import program as programs

MODES = {"static": "static", "dymbatch": "batch", "dymhw": "image_size", "dymdims": "dims", "dymshape": "range"}


class Description:
    """What `get_inputs` and `get_outputs` tell of a port."""

    def __init__(self, port: programs.Port, form: str) -> None:
        import numpy

        self.name = port.name
        self.datatype = port.dtype
        self.format = form
        self.shape = list(port.shape)
        size = int(numpy.dtype(port.dtype).itemsize)
        for dim in port.shape:
            size *= max(dim, 0)
        self.size = self.realsize = size


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
        self.device_id, self.model_path, self.loop = device_id, model_path, max(1, loop)
        self._summary = Summary()
        try:
            self.program: programs.Program | None = programs.load(Path(model_path))
        except UserError as error:
            raise RuntimeError(f"load model from file failed: {error.message}") from error

    def get_inputs(self) -> list[Description]:
        return [Description(port, "NCHW" if len(port.shape) == 4 else "ND") for port in self._loaded().inputs]

    def get_outputs(self) -> list[Description]:
        return [Description(port, "NCHW" if len(port.shape) == 4 else "ND") for port in self._loaded().outputs]

    def infer(
        self, feeds: Sequence[Any], mode: str = "static", custom_sizes: Any = 100000, out_array: bool = True
    ) -> list[Any]:
        """Outputs as arrays for inputs as arrays or torch tensors, in the order of the model."""
        program = self._loaded()
        if mode not in MODES:
            raise RuntimeError(f"wrong infer mode: {mode}; one of {', '.join(MODES)}")
        if program.mode != MODES[mode] and not (program.mode == "range" and mode == "static"):
            wanted = next(name for name, own in MODES.items() if own == program.mode)
            raise RuntimeError(f"the model was converted for mode {wanted!r}, not {mode!r}")
        arrays = [_array(feed, port) for feed, port in zip(feeds, program.inputs, strict=False)]
        self._check_gear(program, arrays)
        begin = time.perf_counter()
        try:
            for _ in range(self.loop):
                found = program.execute(arrays if len(feeds) == len(arrays) else list(feeds))
        except UserError as error:
            raise RuntimeError(error.message) from error
        self._summary.exec_time_list.append((time.perf_counter() - begin) * 1000 / self.loop)
        return found

    def infer_pipeline(self, feeds_list: Sequence[Sequence[Any]], mode: str = "static", custom_sizes: Any = 100000
                       ) -> list[list[Any]]:  # fmt: skip
        return [self.infer(feeds, mode, custom_sizes) for feeds in feeds_list]

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

    @staticmethod
    def _check_gear(program: programs.Program, arrays: Sequence[Any]) -> None:
        if program.gears and not program.steps:
            shapes = [tuple(array.shape) for array in arrays]
            if not any(shapes == program.at(gear) for gear in program.gears):
                raise RuntimeError(f"the inputs fit no gear of the model: {shapes}, gears {list(program.gears)}")


def _array(feed: Any, port: programs.Port) -> Any:
    import numpy

    if hasattr(feed, "detach"):
        feed = feed.detach().cpu().numpy()
    if not isinstance(feed, numpy.ndarray):
        raise RuntimeError(f"input `{port.name}` must be an array or a tensor, not {type(feed).__name__}")
    return feed
