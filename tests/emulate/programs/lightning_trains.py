"""Lightning's Trainer on a card by jumar.lightning: the weights of the CPU, half precision, wrong requests."""

import copy
import os

import pytorch_lightning as pl
import torch

from jumar.lightning import NPUAccelerator, on_npu


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.net = torch.nn.Linear(8, 1)
        self.places = set()

    def training_step(self, batch, step):
        self.places.add(batch.device.type)
        return self.net(batch).square().mean() * 0.1

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1.0, momentum=0.9)


def weights(**where):
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    net = Net()
    trainer = pl.Trainer(max_epochs=2, default_root_dir=os.environ["OUT"], **quiet, **where)
    trainer.fit(net, torch.utils.data.DataLoader(rows, batch_size=4))
    assert net.places == {trainer.strategy.root_device.type}, net.places
    return copy.deepcopy(net).cpu().net.weight, trainer.strategy.root_device


rows = torch.randn(16, 8, generator=torch.Generator().manual_seed(1))
plain, _ = weights(accelerator="cpu")
card, where = weights(**on_npu())
assert where == torch.device("npu:0"), where
torch.testing.assert_close(card, plain)
third, where = weights(**on_npu([2]))
assert where == torch.device("npu:2") and torch.equal(third, card)
half, _ = weights(**on_npu(precision="16-mixed"))
assert not torch.equal(half, plain)
torch.testing.assert_close(half, plain, rtol=1e-2, atol=1e-3)
in_order = {"use_distributed_sampler": False}  # Lightning's own would shuffle
shared, where = weights(**in_order, **on_npu("1", strategy="fsdp"))
assert where == torch.device("npu:0"), where
torch.testing.assert_close(shared, plain)
rounded, _ = weights(**in_order, **on_npu(1, "bf16-mixed", strategy="fsdp"))
assert not torch.equal(rounded, plain)
torch.testing.assert_close(rounded, plain, rtol=5e-2, atol=1e-2)

assert NPUAccelerator.parse_devices("auto") == [0, 1, 2]
assert NPUAccelerator.parse_devices(-1) == [0, 1, 2] and NPUAccelerator.parse_devices("0,2") == [0, 2]
for wrong in ({"accelerator": NPUAccelerator(), "devices": 1}, {"devices": 9}, {"strategy": "deepspeed"}):
    try:
        weights(**(wrong if "accelerator" in wrong else on_npu(**wrong)))
    except pl.utilities.exceptions.MisconfigurationException as error:
        assert "on_npu" in str(error) or "there are 3" in str(error), error
    else:
        raise AssertionError("a wrong request was accepted")
print("done")
