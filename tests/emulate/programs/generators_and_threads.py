import threading

import torch

x = torch.ones(64).npu()
torch.native_dropout(x, 0.5, True)
before = torch.get_rng_state()
threads = [threading.Thread(target=lambda: [torch.native_dropout(x, 0.5, True) for _ in range(300)]) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert torch.equal(before, torch.get_rng_state())
