"""A script whose subprocesses use cards, one after the other."""

import subprocess
import sys

for _ in range(2):
    subprocess.run([sys.executable, "-c", "import torch; torch.ones(1, device='npu')"], check=True)
