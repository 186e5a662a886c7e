import os
import signal
import sys

from jumar.cli.main import main
from jumar.migrate import project

project.POOL_FROM = 1
real = project._work


def work(task):
    if os.path.basename(task[0][0].path) == "f0.py":
        os.killpg(0, signal.SIGINT)
    return real(task)


project._work = work
sys.exit(main(["analyze", sys.argv[1], "--jobs", "2", "--no-cache"]))
