"""A job whose child leaves its process group."""

import subprocess
import sys
import time

child = [sys.executable, "-c", "import time; time.sleep(60)"]
print("up", subprocess.Popen(child, start_new_session=True).pid, flush=True)
time.sleep(60)
