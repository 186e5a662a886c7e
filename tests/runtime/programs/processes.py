"""Children of multiprocessing touch cards; the main process never does."""

import multiprocessing
import sys

import torch


def touch(card):
    torch.npu.set_device(card)
    torch.ones(1, device="npu")


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    for _ in range(2):
        children = [context.Process(target=touch, args=(card,)) for card in range(2)]
        for child in children:
            child.start()
        for child in children:
            child.join()
            assert child.exitcode == 0
