"""For tools/arm.py: what the C++ helpers of `jumar compare` and `jumar cloud` make of fixed bytes.

Needs nothing but Jumar, and prints the same on every machine.
"""

import ctypes
import hashlib
import math
import random
import sys
import tempfile
from array import array
from pathlib import Path

import jumar
from jumar.cloud import lanes

SKETCH = Path(jumar.__file__).parent / "compare" / "lib" / "libjumar_sketch.so"
COUNT = 300_001  # more than one slice of a sketch, and no multiple of anything
FLOAT32, FLOAT64 = 0, 3
PART = 4096 + 24


def sketch(kind, values):
    function = ctypes.CDLL(str(SKETCH)).jumar_sketch
    function.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64, ctypes.c_uint, ctypes.c_void_p]
    function.restype = None
    row = array("f", bytes(4 * (6 + 256)))
    function(values.buffer_info()[0], kind, len(values), 1, row.buffer_info()[0])
    return hashlib.sha256(row.tobytes()).hexdigest()


def checksums(data):
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        sums = lanes.digests(file.name, [(start * PART, PART) for start in range(20)])
    assert lanes.group() > 1 and sums[0] == hashlib.md5(data[:PART]).hexdigest()
    return " ".join(sums)


def main():
    numbers = random.Random(7)
    values = array("f", (math.ldexp(numbers.uniform(-1, 1), numbers.randint(-40, 40)) for _ in range(COUNT)))
    print("float32", sketch(FLOAT32, values))
    print("float64", sketch(FLOAT64, array("d", values)))
    print("md5", checksums(values.tobytes()[: 20 * PART]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
