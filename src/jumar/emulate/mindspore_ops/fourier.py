"""Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

from .registry import operator

_NORMS = {0: "backward", 1: "forward", 2: "ortho"}


def _options(inputs: Any, attributes: Any) -> tuple[Any, Any, str]:
    """Sizes, axes and scaling: further inputs, or attributes."""
    given = [inputs.get(at) if inputs.get(at) is not None else attributes.get(name) for at, name in _NAMES]
    sizes, axes = (None if one is None else [int(v) for v in np.reshape(one, -1)] or None for one in given[:2])
    norm = given[2]
    if norm is None or isinstance(norm, str) or not np.size(norm):
        return sizes, axes, norm or "backward"
    return sizes, axes, _NORMS[int(np.reshape(norm, -1)[0])]


_NAMES = ((1, "s"), (2, "dim"), (3, "norm"))
_ONE = {"FFT": np.fft.fft, "IFFT": np.fft.ifft, "RFFT": np.fft.rfft, "IRFFT": np.fft.irfft, "HFFT": np.fft.hfft,
        "IHFFT": np.fft.ihfft}  # fmt: skip
_MANY = {"FFT2": np.fft.fft2, "IFFT2": np.fft.ifft2, "RFFT2": np.fft.rfft2, "IRFFT2": np.fft.irfft2,
         "FFTN": np.fft.fftn, "IFFTN": np.fft.ifftn, "RFFTN": np.fft.rfftn, "IRFFTN": np.fft.irfftn}  # fmt: skip


@operator("FFTShapeCopy")
def fitted(x: Any, outputs: Any) -> Any:
    """Cut or filled with zeros to the shape of the output."""
    out = np.zeros(outputs[0].shape, x.dtype)
    both = tuple(slice(0, min(a, b)) for a, b in zip(out.shape, x.shape))
    out[both] = x[both]
    return out


for _name, _run in _ONE.items():

    @operator(_name)
    def along_one(inputs: Any, attributes: Any, outputs: Any, run: Any = _run) -> Any:
        sizes, axes, norm = _options(inputs, attributes)
        return run(inputs[0], sizes[0] if sizes else None, axes[0] if axes else -1, norm)


for _name, _run in _MANY.items():

    @operator(_name)
    def along_many(inputs: Any, attributes: Any, outputs: Any, run: Any = _run, two: bool = _name.endswith("2")) -> Any:
        sizes, axes, norm = _options(inputs, attributes)
        return run(inputs[0], sizes, axes or ((-2, -1) if two else None), norm)


@operator("FFTWithSize")
def transform(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Over the last axes; of real numbers the half that says all, where one side is asked for."""
    axes = tuple(range(-int(attributes["signal_ndim"]), 0))
    norm: Any = attributes.get("norm") or "backward"
    half = bool(attributes.get("real")) and bool(attributes.get("onesided", 1))
    if not attributes.get("inverse"):
        return (np.fft.rfftn if half else np.fft.fftn)(inputs[0], None, axes, norm)
    if half:
        return np.fft.irfftn(inputs[0], [outputs[0].shape[axis] for axis in axes], axes, norm)
    return np.fft.ifftn(inputs[0], None, axes, norm)


def _cosines(x: Any, size: int, axis: int, ortho: bool, forward: bool) -> Any:
    """The second cosine transform along an axis; not `forward`, its transpose: its inverse, where it is orthogonal."""
    kept = np.moveaxis(x, axis, -1)[..., :size]
    kept = np.concatenate([kept, np.zeros((*kept.shape[:-1], size - kept.shape[-1]), kept.dtype)], -1)
    waves = 2 * np.cos(np.pi * np.arange(size)[:, None] * (2 * np.arange(size) + 1) / (2 * size))
    if ortho:
        waves = waves * np.sqrt(np.where(np.arange(size) == 0, 0.5, 1) / (2 * size))[:, None]
    return np.moveaxis(kept @ (waves.T if forward else waves), -1, axis)


@operator("DCT", "DCTN")
def cosines(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return _transformed(inputs, attributes, bool(attributes.get("forward", 1)))


@operator("IDCT", "IDCTN")
def cosines_back(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return _transformed(inputs, attributes, False)


def _transformed(inputs: Any, attributes: Any, forward: bool) -> Any:
    """Type, sizes, axes and scaling: further inputs, or attributes in older releases."""
    given = [inputs.get(at) if inputs.get(at) is not None else attributes.get(name) for at, name in _COSINES]
    sizes, axes = (None if one is None else [int(v) for v in np.reshape(one, -1)] or None for one in given[:2])
    x, norm = inputs[0], given[2]
    axes = axes if axes is not None else list(range(x.ndim))[-len(sizes or range(x.ndim)) :]
    ortho = norm == "ortho" or (norm is not None and not isinstance(norm, str) and int(np.reshape(norm, -1)[0]) == 2)
    for at, axis in enumerate(axes):
        size = sizes[at] if sizes is not None and sizes[at] > 0 else x.shape[axis]
        x = _cosines(x, size, axis, ortho, forward)
    return x


_COSINES = ((2, "n"), (3, "axis"), (4, "norm"))


@operator("IRFFTDouble")
def doubled(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """For the gradient of `irfft`: frequencies that stand for two count twice. Inputs: values, size and axis."""
    size, axis = (_whole(inputs, attributes, at, name) for at, name in ((1, "n"), (2, "dim")))
    out = np.moveaxis(np.array(inputs[0]), -1 if axis is None else axis, 0)
    size = 2 * (len(out) - 1) if size is None else size
    out[1 : (size - 1) // 2 + 1] *= 2
    return np.moveaxis(out, 0, -1 if axis is None else axis)


def _whole(inputs: Any, attributes: Any, at: int, name: str) -> int | None:
    given = inputs.get(at) if inputs.get(at) is not None else attributes.get(name)
    return None if given is None or not np.size(given) else int(np.reshape(given, -1)[0])


@operator("FFTOrtho")
def scaled_for_cosines(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """What makes a cosine transform orthogonal, along each axis; not `forward`, it is taken back."""
    axes = inputs.get(1) if inputs.get(1) is not None else attributes.get("axes")
    forward = _whole(inputs, attributes, 2, "forward") != 0
    out = np.array(inputs[0])
    for axis in np.reshape([] if axes is None else axes, -1).astype(int):
        size = out.shape[axis]
        factors = np.full(size, np.sqrt(1 / (2 * size)))
        factors[0] = np.sqrt(1 / (4 * size))
        shape = [1] * out.ndim
        shape[axis] = size
        out = out * (factors if forward else 1 / factors).reshape(shape)
    return out


def _frequencies(run: Any) -> Any:
    def call(count: Any, step: Any = 1.0) -> Any:
        """How many values there are, and how far apart."""
        return run(int(np.reshape(count, -1)[0]), float(np.reshape(1.0 if step is None else step, -1)[0]))

    return call


operator("FFTFreq")(_frequencies(np.fft.fftfreq))
operator("RFFTFreq")(_frequencies(np.fft.rfftfreq))


def _hermitian(run: Any) -> Any:
    def call(inputs: Any, attributes: Any, outputs: Any) -> Any:
        sizes, axes, norm = _options(inputs, attributes)
        return run(inputs[0], sizes, axes, norm) if axes is not None else run(inputs[0], sizes, norm=norm)

    return call


for _name in ("HFFT2", "IHFFT2", "HFFTN", "IHFFTN"):
    operator(_name)(_hermitian(getattr(scipy.fft, _name.lower())))


@operator("STFT")
def short_time(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Transforms of windows that follow each other, frequencies in rows."""
    x, window = inputs[0], inputs.get(1)
    size, step = int(attributes["n_fft"]), int(attributes["hop_length"])
    frames = np.stack([x[..., at : at + size] for at in range(0, x.shape[-1] - size + 1, step)], -1)
    if window is not None and np.size(window):
        before = (size - len(window)) // 2
        frames = frames * np.pad(window, (before, size - len(window) - before))[:, None]
    whole = not attributes.get("onesided", 1) or np.iscomplexobj(frames)
    found = (np.fft.fft if whole else np.fft.rfft)(frames, axis=-2)
    found = found / np.sqrt(size) if attributes.get("normalized") else found
    return found if outputs[0].dtype.kind == "c" else np.stack([found.real, found.imag], -1)
