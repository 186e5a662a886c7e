"""Makes an ONNX model of a torch module (`file.py:make_model`) or of a saved `torch.export` program (`.pt2`)."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
import sys
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.export.model import first_line
from jumar.runtime.hooks.alone import without_backends
from jumar.tables import atc, tested


def is_torch(source: str) -> bool:
    """Does the text name a torch module or program rather than an ONNX file?"""
    file, _, name = source.rpartition(":")
    return source.endswith(".pt2") or (file.endswith(".py") and name.isidentifier())


def is_pickled(source: str) -> bool:
    """Is it a program of `torch.export.save`, which only unpickling reads (constants, inputs, symbols of sympy)?"""
    return source.endswith(".pt2") and Path(source).is_file() and zipfile.is_zipfile(source)


def export(source: str, shapes: Mapping[str, tuple[int, ...]], target: Path) -> int:
    """Write the ONNX model of `source` to `target`; returns its opset."""
    opset = atc.newest_opset()
    file = Path(source if source.endswith(".pt2") else source.rpartition(":")[0])
    if not file.is_file():
        raise UserError(f"no such file: `{file}`")
    if file.suffix == ".pt2" and not zipfile.is_zipfile(file):
        raise UserError(f"`{file}` is not a program of `torch.export.save`: it is not an archive")
    if importlib.util.find_spec("torch") is None:
        raise UserError("`torch` is not installed in this environment", f"pip install torch=={tested.pair().torch}")
    if importlib.util.find_spec("onnxscript") is None:
        raise UserError("torch's exporter needs `onnxscript`", "pip install onnxscript")
    with without_backends():
        import torch

    if source.endswith(".pt2"):
        subject, arguments, names = _program(torch, Path(source)), None, None
    else:
        subject, arguments, names = _module(torch, source, shapes)
    said = io.StringIO()
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            warnings.simplefilter("ignore")
            torch.onnx.export(
                subject, arguments or (), str(target), opset_version=opset, dynamo=True, input_names=names,
                external_data=False,
            )  # fmt: skip
    except Exception as error:
        raise UserError(
            f"torch cannot export `{source}`: {type(error).__name__}: {first_line(error)}",
            "try `torch.export.export(model, inputs)` on it first: change in the model what fails there",
        ) from error
    return opset


def _program(torch: Any, path: Path) -> Any:
    logging.getLogger("torch.export").setLevel(logging.CRITICAL)
    try:
        return torch.export.load(path)
    except Exception as error:
        raise UserError(f"`{path}` is not a program of `torch.export.save`: {first_line(error)}") from error


def _module(
    torch: Any, source: str, shapes: Mapping[str, tuple[int, ...]]
) -> tuple[Any, tuple[Any, ...], list[str] | None]:
    made = _make(source)
    module, arguments = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if not isinstance(module, torch.nn.Module):
        raise UserError(
            f"`{source}` returned {type(module).__name__}",
            "return a torch.nn.Module, or a pair of it and a tuple of example inputs",
        )
    module = module.eval()
    if arguments is None:
        if not shapes:
            raise UserError(
                f"`{source}` returned a module without example inputs",
                'return `(module, (tensor, ...))`, or give shapes: `--shape "x:1,3,224,224"`',
            )
        torch.manual_seed(0)
        return module, tuple(torch.randn(shape) for shape in shapes.values()), list(shapes)
    return module, tuple(arguments) if isinstance(arguments, (tuple, list)) else (arguments,), list(shapes) or None


def _make(source: str) -> Any:
    file, _, name = source.rpartition(":")
    path = Path(file)
    spec = importlib.util.spec_from_file_location(f"jumar_export_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
        function = getattr(module, name, None)
        if function is None:
            raise UserError(f"`{file}` has no `{name}`", did_you_mean(name, vars(module), "check the name"))
        return function()
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"`{source}` failed: {type(error).__name__}: {first_line(error)}") from error
    finally:
        sys.path.pop(0)
