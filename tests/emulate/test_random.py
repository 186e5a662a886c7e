"""Random numbers of an emulated card: reproducible, per card, and apart from the CPU's generator."""

from __future__ import annotations

from running import Run

_DRAWS = [
    "torch.randn(8, device='npu')",
    "torch.randint(0, 99, (8,), device='npu')",
    "torch.randperm(9, device='npu')",
    "torch.bernoulli(x / 2)",
    "torch.multinomial(x, 3)",
    "torch.normal(x, x)",
    "x.clone().uniform_()",
    "x.clone().exponential_()",
    "torch.rand_like(x)",
    "torch.nn.functional.dropout(x, 0.5)",
    "torch.nn.functional.dropout(x.half(), 0.5)",
    "torch.nn.functional.rrelu(-x, training=True)",
    "torch.nn.functional.gumbel_softmax(x)",
]


def test_every_kind_of_draw_follows_the_seed(run: Run) -> None:
    program = f"""
import torch
x = torch.ones(8, device="npu")
before = torch.get_rng_state()
draws = [{", ".join(f"lambda: {draw}" for draw in _DRAWS)}]
for draw in draws:
    torch.npu.manual_seed(11)
    first, second = draw(), draw()
    torch.npu.manual_seed(11)
    assert torch.equal(first, draw()) and torch.equal(second, draw())
assert torch.equal(before, torch.get_rng_state())
torch.manual_seed(1)
first = torch.rand(3, device="npu")
torch.manual_seed(1)
assert torch.equal(first, torch.rand(3, device="npu"))
"""
    run(program)


def test_cards_have_generators_of_their_own(run: Run) -> None:
    program = """
import torch
torch.npu.manual_seed_all(5)
assert torch.equal(torch.rand(3, device="npu:0").cpu(), torch.rand(3, device="npu:1").cpu())
other = torch.npu.get_rng_state("npu:1")
torch.rand(3, device="npu:0")
assert torch.equal(other, torch.npu.get_rng_state("npu:1"))
torch.npu.manual_seed(6)
print(torch.npu.initial_seed())
try:
    torch.rand(2, device="npu", generator=torch.Generator())
except RuntimeError as error:
    print(str(error).splitlines()[0])
"""
    assert run(program).stdout == "6\nExpected a 'npu' device type for generator but found 'cpu'\n"


def test_threads_leave_the_generator_of_the_cpu_alone(run: Run) -> None:
    program = """
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
"""
    run(program)
