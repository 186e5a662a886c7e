"""A pytest plugin that imports torch before any option is read."""

import torch

torch.ones(1)
