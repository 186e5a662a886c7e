"""What a plain interpreter looks like from inside."""

import builtins
import gc
import json
import sys

facts = {
    "finders": [getattr(one, "__name__", type(one).__name__) for one in sys.meta_path],
    "path hooks": len(sys.path_hooks),
    "modules": sorted(sys.modules),
    "frozen": gc.get_freeze_count(),
    "collects": gc.isenabled(),
    "excepthook": sys.excepthook is sys.__excepthook__,
    "import": builtins.__import__.__module__,
}
print(json.dumps(facts))
