"""A YOLO by ultralytics on an NPU, trained on squares and asked for one: `jumar run ultralytics_yolo.py`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy
import torch
from PIL import Image
from ultralytics import YOLO

import tiny

SIZE, SIDE = 64, 20
STILL = dict.fromkeys(("mosaic", "hsv_h", "hsv_s", "hsv_v", "fliplr", "translate", "scale", "erasing"), 0.0)


def draw(folder: Path) -> str:
    """Bright squares on noise, and where they are."""
    chance = numpy.random.default_rng(0)
    for part in ("train", "val"):
        for kind in ("images", "labels"):
            (folder / kind / part).mkdir(parents=True)
        for number in range(4):
            picture = chance.integers(0, 60, (SIZE, SIZE, 3), dtype=numpy.uint8)
            x, y = chance.integers(4, SIZE - SIDE - 4, 2)
            picture[y : y + SIDE, x : x + SIDE] = 220
            Image.fromarray(picture).save(folder / "images" / part / f"{number}.png")
            place = [(x + SIDE / 2) / SIZE, (y + SIDE / 2) / SIZE, SIDE / SIZE, SIDE / SIZE]
            (folder / "labels" / part / f"{number}.txt").write_text(f"{number % 2} {' '.join(map(str, place))}\n")
    (folder / "squares.yaml").write_text(f"path: {folder}\ntrain: images/train\nval: images/val\nnames: [a, b]\n")
    return str(folder / "squares.yaml")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="yolov8n.yaml", help="one of ultralytics' own, with random weights")
    parser.add_argument("--cpu", action="store_true")
    net = YOLO(parser.parse_args().model)
    net.add_callback("on_train_epoch_end", lambda trainer: tiny.tell(trainer.epoch, trainer.loss.detach()))
    with tempfile.TemporaryDirectory() as name:
        where = {"device": "cpu" if tiny.device() == "cpu" else "npu:0", "imgsz": SIZE, "verbose": False}
        net.train(
            data=draw(Path(name)), epochs=3, batch=4, workers=0, amp=False, plots=False, optimizer="SGD", seed=0,
            project=name, **STILL, **where,
        )  # fmt: skip
        found = net.predict(f"{name}/images/val/0.png", conf=0.001, save=False, **where)[0].boxes.data
    tiny.tell(3, found[:, 4].sum() if len(found) else torch.zeros((), device=found.device))


if __name__ == "__main__":
    main()
