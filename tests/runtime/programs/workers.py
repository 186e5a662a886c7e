"""The data workers touch a card, and then the main process does."""

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        torch.npu.set_device(0)
        return index


if __name__ == "__main__":
    # A forked worker cannot: torch_npu starts in the main process before it.
    assert len(list(DataLoader(Rows(), num_workers=2, multiprocessing_context="spawn"))) == 4
    torch.npu.set_device(0)
