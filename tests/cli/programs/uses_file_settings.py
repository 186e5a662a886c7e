"""Training that makes one setting from another and writes there; what it begins from is read by a function."""

import os
import shutil

from file_settings import config


def deepest(path):
    parent = os.path.dirname(path)
    return deepest(parent) if parent not in ("", "/") else path


def prepare(args):
    args.outputs_dir = os.path.join(args.keeper, "run")
    args.top = deepest(args.keeper)


prepare(config)
os.makedirs(config.outputs_dir, exist_ok=True)
assert os.listdir(config.images)
shutil.copy(__file__, os.path.join(config.outputs_dir, "state.ckpt"))
with open(os.path.join(config.outputs_dir, "log.txt"), "w") as file:
    file.write(config.stage_word)
