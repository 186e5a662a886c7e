"""Arrays and tensors from files of others: nothing is unpickled, and a file says no more than it holds.

A header can promise terabytes, and a tensor can repeat one number a trillion times: both are a ValueError, as is what
else is wrong with a file. Formats: numpy.lib.format, and the archives of torch.save.
"""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumar.core import read
from jumar.core.errors import UserError
from jumar.runtime.hooks.alone import without_backends

if TYPE_CHECKING:
    import numpy as np

_MAGIC = b"\x93NUMPY"


def load_npy(path: str | Path) -> np.ndarray[Any, Any]:
    """The array of a `.npy` file; errors of the system pass, everything else is a ValueError."""
    import numpy
    from numpy.lib import format as npy

    try:
        with read.opened(path) as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise ValueError("it is not a file of numpy")
            file.seek(0)
            version = npy.read_magic(file)
            header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, _, kind = header(file)
            if kind.hasobject:
                raise ValueError("it holds Python objects, which would have to be unpickled")
            begin, end = file.tell(), file.seek(0, 2)
            if math.prod(shape) * kind.itemsize > end - begin:
                raise ValueError("it is shorter than its header says")
            file.seek(0)
            loaded: np.ndarray[Any, Any] = numpy.load(file, allow_pickle=False)
            return loaded
    except UserError as error:
        raise ValueError(error.message) from error
    except OSError:
        raise
    except Exception as error:  # numpy reads its header as Python
        raise ValueError(str(error) or type(error).__name__) from error


def load_tensor(path: str | Path) -> Any:
    """The tensor that `torch.save` wrote; a ValueError for anything else."""
    with without_backends():
        import torch

    try:
        with read.opened(path) as file:
            size = file.seek(0, 2)
            file.seek(0)
            if zipfile.is_zipfile(file):
                with zipfile.ZipFile(file) as archive:
                    if read.is_bomb(size, sum(member.file_size for member in archive.infolist())):
                        raise ValueError("it unpacks to more than a file of torch does")
            file.seek(0)
            found = torch.load(file, map_location="cpu", weights_only=True)
    except UserError as error:
        raise ValueError(error.message) from error
    except Exception as error:  # torch raises whatever the bytes make it
        raise ValueError(str(error) or type(error).__name__) from error
    if not isinstance(found, torch.Tensor) or found.layout is not torch.strided:
        raise ValueError("it holds no plain tensor")
    if found.numel() * found.element_size() > max(size, read.FREE):
        raise ValueError("its tensor repeats what the file holds without end")
    return found
