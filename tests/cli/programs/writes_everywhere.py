"""Writes in many ways, with literals only: each file must arrive."""

import json
import logging
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from mindspore.train.callback import Model, ModelCheckpoint
from saver import Saver, keep_text


@dataclass
class Config:
    notes: str = "notes"


def main():
    cfg = Config()
    os.makedirs("ckpt", exist_ok=True)
    with open("ckpt/state", "w") as file:
        file.write("x")
    with open(os.path.join("ckpt", "joined.json"), "w") as file:
        json.dump({}, file)
    out = Path("figures")
    out.mkdir(exist_ok=True)
    (out / "one.txt").write_text("x")
    with (out / "two.txt").open("w") as file:
        file.write("x")
    with open("ckpt/draft", "w") as file:
        file.write("x")
    os.rename("ckpt/draft", "ckpt/final")
    shutil.copy("ckpt/final", "ckpt/copy")
    logging.basicConfig(filename="run.log", level=logging.INFO)
    logging.info("x")
    keep_text("x", "kept.txt")
    Saver("saved").keep("x")
    os.makedirs(cfg.notes, exist_ok=True)
    with open(os.path.join(cfg.notes, "note.txt"), "w") as file:
        file.write("x")
    if os.path.isdir("ckpt"):
        print(sorted(os.listdir("ckpt")))
    Model().train(1, None, [ModelCheckpoint("net", "nets")])


if __name__ == "__main__":
    main()
