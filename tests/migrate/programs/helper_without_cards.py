import jumar_device as d
import torch
from jumar_device import FloatTensor, autocast, synchronize  # noqa: F401

synchronize()
d.empty_cache()
d.manual_seed_all(1)
d.set_device(0)
assert (d.DEVICE, d.place(3), d.memory_allocated(), d.is_available()) == ("cpu", "cpu", 0, False)
assert d.ACCELERATOR != "cpu" and FloatTensor is torch.FloatTensor
with d.device(0), d.stream(d.Stream()):
    start, end = d.Event(enable_timing=True), d.Event()
    start.record()
    end.record()
    assert start.elapsed_time(end) >= 0
x = torch.zeros(1)
assert d.move(x, 0, non_blocking=True).device.type == "cpu" and not d.is_on_accelerator(x)
assert not hasattr(d, "get_arch_list") and d.tensor_type("FloatTensor") == "torch.FloatTensor"
