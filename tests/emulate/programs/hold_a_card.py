import ctypes
import sys

from jumar.emulate import env

library = ctypes.CDLL(str(env.libraries()[0]))
assert library.aclInit(None) == 0 and library.aclrtSetDevice(1) == 0
pointer = ctypes.c_void_p()
assert library.aclrtMalloc(ctypes.byref(pointer), ctypes.c_size_t(64 << 20), 0) == 0
print("ready", flush=True)
sys.stdin.read()
