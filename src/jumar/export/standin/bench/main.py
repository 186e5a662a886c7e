"""Runs a stand-in as `python3 -m ais_bench` runs a model: files in, files out, times in the runner's own lines.

It prints as a program does, so it stands in for one; scripts look for the line with `throughput`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from jumar.core.compat import zip
from jumar.core.errors import UserError, reason
from jumar.export.standin.bench import files, options
from jumar.export.standin.session import InferSession

NOTE = "a stand-in on this machine: times are those of ONNX Runtime on the CPU, not of an NPU"
SCALE = 99


def main(argv: Sequence[str] | None = None) -> int:
    wish = options.parse(sys.argv[1:] if argv is None else argv)
    try:
        _say("WARNING", NOTE)
        for shape in _range(wish.dymShape_range) if wish.dymShape_range else [wish.dymShape]:
            wish.dymShape = shape
            for device in wish.device:
                _run(wish, device)
            if wish.dymShape_range:
                _say("INFO", f"dymshape:{shape} end run result:OK")
        return 0
    except UserError as error:
        _say("ERROR", error.message)
    except (RuntimeError, OSError) as error:
        _say("ERROR", reason(error))
    return 1


def _run(wish: argparse.Namespace, device: int) -> None:
    session = InferSession(device, wish.model, loop=wish.loop)
    _set_shapes(session, wish)
    if wish.debug:
        _say("DEBUG", repr(session))
    inputs = session.get_inputs()
    automatic = wish.auto_set_dymshape_mode or wish.auto_set_dymdims_mode
    runs = files.runs(wish.input, inputs, whole=automatic) if wish.input else [[["pure_infer_data"] for _ in inputs]]
    feeds = [[files.read(names) for names in run] if wish.input else _pure(wish, session) for run in runs]
    session.set_loop_count(1)
    for _ in range(wish.warmup_count):
        session.run(feeds[0], out_array=True)
    session.set_loop_count(wish.loop)
    session.reset_summaryinfo()
    _say("INFO", f"warm up {wish.warmup_count} done")
    folder = _folder(wish, device)
    written = []
    for run, values in zip(runs, feeds, strict=True):
        outputs = session.run(values, out_array=True)
        if folder:
            written += files.save(outputs, run, folder, wish.outfmt, wish.output_batchsize_axis)
    batch = wish.batchsize or _batch(feeds, session)
    _report(session.summary().exec_time_list, batch, folder, written)


def _set_shapes(session: InferSession, wish: argparse.Namespace) -> None:
    if wish.dymBatch:
        session.set_dynamic_batchsize(wish.dymBatch)
    elif wish.dymHW:
        height, _, width = wish.dymHW.partition(",")
        if not (height.strip().isdecimal() and width.strip().isdecimal()):
            raise RuntimeError(f"--dymHW {wish.dymHW}: write height and width, such as 224,224")
        session.set_dynamic_hw(int(height), int(width))
    elif wish.dymDims:
        session.set_dynamic_dims(wish.dymDims)
    elif wish.dymShape:
        session.set_dynamic_shape(wish.dymShape)
    elif session.mode != "static" and not (wish.auto_set_dymshape_mode or wish.auto_set_dymdims_mode):
        option = {"batch": "dymBatch", "image_size": "dymHW", "dims": "dymDims", "range": "dymShape"}[session.mode]
        raise RuntimeError(f"the model has no fixed shapes: give --{option}")


def _pure(wish: argparse.Namespace, session: InferSession) -> list[Any]:
    import numpy

    sizes = [row.realsize for row in session.get_inputs()]
    if wish.pure_data_type == "zero":
        return [numpy.zeros(size, "uint8") for size in sizes]
    return [numpy.random.default_rng(0).integers(0, 256, size, "uint8") for size in sizes]


def _batch(feeds: list[list[Any]], session: InferSession) -> int:
    import numpy

    shape = next(iter(session.shapes), ())
    if shape[:1] > (0,):
        return shape[0]
    own = numpy.shape(feeds[0][0])
    return int(own[0]) if len(own) > 1 else 1


def _folder(wish: argparse.Namespace, device: int) -> str:
    if not wish.output:
        return ""
    parts = [wish.output, wish.output_dirname or time.strftime("%Y_%m_%d-%H_%M_%S")]
    folder = os.path.join(*parts, *([f"device{device}"] if len(wish.device) > 1 else []))
    os.makedirs(folder, exist_ok=True)
    _say("INFO", f"output path:{folder}")
    return folder


def _report(spent: list[float], batch: int, folder: str, written: list[tuple[list[str], list[str]]]) -> None:
    import numpy

    times = {"min": min(spent), "max": max(spent), "mean": float(numpy.mean(spent)),
             "median": float(numpy.median(spent)),
             f"percentile({SCALE}%)": float(numpy.percentile(spent, SCALE))}  # fmt: skip
    throughput = 1000 * batch / times["mean"] if times["mean"] else 0.0
    _say("INFO", "-----------------Performance Summary------------------")
    _say("INFO", "NPU_compute_time (ms): " + ", ".join(f"{name} = {value}" for name, value in times.items()))
    mean = times["mean"]
    _say("INFO", f"throughput 1000*batchsize.mean({batch})/NPU_compute_time.mean({mean}): {throughput}")
    _say("INFO", "------------------------------------------------------")
    if folder:
        rows = {str(number): {"infiles": went, "outfiles": came} for number, (went, came) in enumerate(written)}
        document = {"filesinfo": rows, "NPU_compute_time": {**times, "count": len(spent)}, "throughput": throughput,
                    "npu_compute_time_list": spent, "args": sys.argv, "note": NOTE}  # fmt: skip
        with open(f"{folder}_summary.json", "w", encoding="utf-8") as file:
            json.dump(document, file)


def _range(text: str) -> Iterator[str]:
    """Every combination of `x:1~4,3,224-448`: from and to with a step, or single numbers."""
    inputs = []
    for part in text.split(";"):
        name, _, dims = part.rpartition(":")
        try:
            axes = [_numbers(dim) for dim in dims.split(",")]
        except ValueError as error:
            raise RuntimeError(f"--dymShape_range {text}: `{part}` is not a range") from error
        inputs.append([f"{name}:{','.join(map(str, row))}" for row in itertools.product(*axes)])
    return (";".join(row) for row in itertools.product(*inputs))


def _numbers(text: str) -> list[int]:
    if "~" in text:
        low, high, *step = map(int, text.split("~"))
        return list(range(low, high + 1, step[0] if step else 1))
    return [int(part) for part in text.split("-")]


def _say(level: str, text: str) -> None:
    """Names of files need not be UTF-8."""
    sys.stdout.write(f"[{level}] {text}\n".encode("utf-8", "backslashreplace").decode("utf-8"))
