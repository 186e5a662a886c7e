"""What `get_inputs` and `get_outputs` tell of a port, and tensors that are read from files for one."""

from __future__ import annotations

from collections.abc import Sequence

from jumar.core.errors import reason
from jumar.export.standin.program import Port
from jumar.export.standin.pyacl.describe import TYPES
from jumar.export.standin.tensor import Tensor


class DataType(str):
    """A type by its name; `int()` gives the number that CANN has for it."""

    __slots__ = ()

    def __int__(self) -> int:
        return TYPES[str(self)]


class Description:
    def __init__(self, port: Port, size: int, now: int) -> None:
        self.name = port.name
        self.datatype = DataType(port.dtype)
        self.format = "NCHW" if len(port.shape) == 4 else "ND"
        self.shape = list(port.shape)
        self.size = size
        """Bytes of the largest gear."""
        self.realsize = now
        """Bytes of the gear that is set."""

    def __repr__(self) -> str:
        return f"{self.name}: {self.datatype} {self.shape}, {self.format}, {self.realsize} bytes of {self.size}"


class FilesTensor(Tensor):
    """The bytes of several files, one behind the other."""

    def __init__(self, description: Description, files: Sequence[str]) -> None:
        import numpy

        try:
            parts = [numpy.fromfile(file, "uint8") for file in files]
        except OSError as error:
            raise RuntimeError(f"cannot read `{error.filename}`: {reason(error)}") from error
        super().__init__(numpy.concatenate(parts) if parts else numpy.empty(0, "uint8"))
        if description.realsize and self._array.nbytes != description.realsize:
            raise RuntimeError(
                f"the files have {self._array.nbytes} bytes, `{description.name}` takes {description.realsize}"
            )
