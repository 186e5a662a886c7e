"""Stands in for a pytest that runs one rank: fails, hangs or dies as its first word says."""

import json
import os
import sys
import time

what, option = sys.argv[1], sys.argv[2]
rank = int(os.environ["RANK"])
assert os.environ["WORLD_SIZE"] == "2" and os.environ["MASTER_PORT"].isdecimal()
if what == "die" and rank == 1:
    print("last words")
    os._exit(7)
if what in ("hang", "die"):
    time.sleep(600)
told = {"outcome": "skipped" if what == "skip" else "passed", "text": "no reason", "used": rank == 1}
with open(option.partition("=")[2], "w", encoding="utf-8") as file:
    json.dump(told, file)
