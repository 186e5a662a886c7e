"""`jumar launch` against torchrun: a job of two ranks that do nothing, from start to end.

Both are measured in turn in one run; a ratio of 1.00 means as fast as torchrun.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 5
PLAIN = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "JUMAR_EMULATE": "0", "OMP_NUM_THREADS": "1"}
COMMANDS = {
    "torchrun": ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "train.py"],
    "jumar launch": ["-m", "jumar", "launch", "--cards", "2", "--logs", "logs", "train.py"],
}


def main() -> int:
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.py").write_text("import os\nprint(os.environ['RANK'])\n")
        for _ in range(ROUNDS):
            for name, words in COMMANDS.items():
                begin = time.perf_counter()
                subprocess.run([sys.executable, *words], cwd=folder, env=PLAIN, capture_output=True, check=True)
                taken[name].append(time.perf_counter() - begin)
    peer = statistics.median(taken["torchrun"])
    print("| launcher | seconds | ratio |\n| --- | --- | --- |")
    for name, times in taken.items():
        print(f"| {name} | {statistics.median(times):.2f} | {statistics.median(times) / peer:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
