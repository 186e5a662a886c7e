"""Writes that are neither `open` nor a callback, each through another door."""

import json
import os
import shelve
import shutil
import sqlite3
import time
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass
class Config:
    place: str = "fields"


with open(os.path.join(HERE, "settings.json")) as file:
    settings = json.load(file)

with open("best.tmp", "w") as file:
    file.write("best")
os.replace("best.tmp", "best.txt")

os.makedirs("loose", exist_ok=True)
os.close(os.open("loose/low.bin", os.O_CREAT | os.O_WRONLY))
shutil.make_archive("packed", "zip", "loose")

base = sqlite3.connect("runs.db")
base.execute("create table runs (name)")
base.commit()
with shelve.open("shelf") as shelf:
    shelf["a"] = 1

out = os.environ.get("OUT_OF_NOTHING", "from_variable")
os.makedirs(out, exist_ok=True)
with open(out + "/x.txt", "w") as file:
    file.write("x")

run = f"{time.strftime('%Y')}_run"
os.makedirs(run, exist_ok=True)
with open(f"{run}/x.txt", "w") as file:
    file.write("x")

config = Config()
os.makedirs(config.place, exist_ok=True)
with open(os.path.join(config.place, "x.txt"), "w") as file:
    file.write("x")

os.makedirs(settings["kept"], exist_ok=True)
with open(os.path.join(settings["kept"], "x.txt"), "w") as file:
    file.write("x")
