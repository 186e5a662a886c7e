import importlib
import json
import sys

missing = []
for name in json.load(sys.stdin):
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
            break
        except ImportError:
            continue
    else:
        missing.append(name)
        continue
    for part in parts[cut:]:
        found = getattr(found, part, None)
    if found is None:
        missing.append(name)
print("missing:" + json.dumps(missing))
