import importlib
import inspect
import json
import sys

missing = []
for name, arguments in json.load(sys.stdin).items():
    module, _, last = name.rpartition(".")
    found = getattr(importlib.import_module(module), last)
    taken = inspect.signature(inspect.unwrap(found.__init__) if inspect.isclass(found) else found).parameters
    missing += [f"{name}({argument})" for argument in arguments if argument not in taken]
print("missing:" + json.dumps(missing))
