"""Imported before the ranks of vendor tests are forked.

Some of these tests put a tensor into a queue and end; on a device the end takes long enough for the reader to fetch it.
Tensors shared as files outlive their sender.
"""

import torch.multiprocessing

torch.multiprocessing.set_sharing_strategy("file_system")
