"""Write made-up images in the binary format of CIFAR-10: each class has its own colour and stripes, under noise."""

import argparse
import os

import numpy

RECORDS = 10000
"""In each file; MindSpore's reader takes no shorter ones."""


def write(path, seed):
    """One file: a byte for the class, then 32 x 32 pixels for each of red, green and blue."""
    random = numpy.random.default_rng(seed)
    labels = random.integers(0, 10, RECORDS)
    colours = numpy.random.default_rng(0).integers(40, 215, (10, 3, 1, 1))
    stripes = 25 * numpy.sin(numpy.arange(32)[None, None, None, :] * (1 + labels[:, None, None, None]) / 5)
    images = colours[labels] + stripes + random.normal(0, 25, (RECORDS, 3, 32, 32))
    rows = numpy.concatenate([labels[:, None], images.clip(0, 255).reshape(RECORDS, -1)], axis=1)
    rows.astype(numpy.uint8).tofile(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    folder = parser.parse_args().folder
    os.makedirs(folder, exist_ok=True)
    write(os.path.join(folder, "data_batch_1.bin"), 1)
    write(os.path.join(folder, "test_batch.bin"), 2)


if __name__ == "__main__":
    main()
