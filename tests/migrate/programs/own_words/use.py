import torch
from ops import upsample


def run(x, config):
    engine = "cuda"
    if config.place == "cuda":
        x = x.to("cuda")
    return upsample(x, engine=engine) + torch.ones(1)
