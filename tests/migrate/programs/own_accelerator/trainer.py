"""A program with an option of its own called accelerator."""

import torch


def device_of(accelerator: str, rank: int) -> torch.device:
    if accelerator == "cuda":
        return torch.device("cuda", rank)
    if accelerator == "cpu":
        return torch.device("cpu")
    raise ValueError(accelerator)
