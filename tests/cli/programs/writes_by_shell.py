"""Writes of another process, and of a function that joins the path in its own way."""

import os
import subprocess

from odd_keeper import keep

os.makedirs("ckpt", exist_ok=True)
keep()
subprocess.run("echo shell | tee shell.txt", shell=True, check=True)
subprocess.run("echo quiet > /dev/null 2>&1", shell=True, check=True)
