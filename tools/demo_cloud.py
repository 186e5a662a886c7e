"""`make demo-cloud`: ResNet-50 on made-up CIFAR-10, from a plain script to a pulled result, on the stand-in.

usage: demo_cloud.py PYTHON [FOLDER]: the interpreter that has MindSpore, and where everything is written.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).parents[1]
OUT = Path(sys.argv[2]).absolute() if len(sys.argv) > 2 else TOP / "out" / "demo-cloud"
BIN = Path(sys.executable).parent
SHORT = ["--param", "epochs=1", "--param", "samples=64", "--param", "image_size=32"]


def main() -> None:
    python = os.path.abspath(sys.argv[1])
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    say("1. A training script as it is written for one's own machine, and what makes it work in a job")
    run("jumar", "cloud", "adapt", str(TOP / "examples" / "cifar" / "train.py"), "-o", "code", "--diff")
    say("2. Made-up images in CIFAR-10's binary format")
    run(python, "code/make_data.py", "data")
    say("3. What a job would send and ask for")
    job = ["--code", "code", "--boot", "train.py", "--data", "data", *SHORT]
    run("jumar", "cloud", "plan", *job)
    for devices in ("1", "2"):
        say(f"{int(devices) + 3}. The job on {devices} device{'s' if devices == '2' else ''}: upload, log, result")
        began = time.monotonic()
        words = ["--python", python, "--devices", devices, "--name", f"on-{devices}", "--follow"]
        run("jumar", "cloud", "submit", *job, *words)
        run("jumar", "cloud", "pull", "--last", "-o", f"result-{devices}")
        print(f"  {time.monotonic() - began:.0f} s")
    say("The result")
    found = sorted(path.relative_to(OUT).as_posix() for path in OUT.glob("result-*/**/*.ckpt"))
    for path in found:
        print(f"  {OUT.name}/{path}")
    if len(found) != 3:
        sys.exit("error: one checkpoint of the first job and two of the second were expected")


def say(title: str) -> None:
    print(f"\n\033[1m{title}\033[0m" if sys.stdout.isatty() else f"\n{title}", flush=True)


def run(*command: str) -> None:
    print("$", *command, flush=True)
    environment = {
        **os.environ,
        "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}",
        "JUMAR_CLOUD_HOME": str(OUT / "home"),
        "GLOG_v": "3",
    }
    code = subprocess.run(command, cwd=OUT, env=environment).returncode
    if code not in (0, 1) or (code and "adapt" not in command):
        sys.exit(f"`{' '.join(command)}` failed with exit code {code}")


if __name__ == "__main__":
    main()
