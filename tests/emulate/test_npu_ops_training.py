"""What training and serving code calls beside attention: optimizers, experts, quantised products, boxes."""

from __future__ import annotations

from running import Run

_OPTIMIZERS = """
import copy, warnings
import torch, torch_npu
from torch import nn
from torch_npu import optim
warnings.simplefilter("ignore")
torch.manual_seed(0)
pairs = [
    (optim.NpuFusedAdam, torch.optim.Adam, {}),
    (optim.NpuFusedAdamW, torch.optim.AdamW, {"weight_decay": 0.1}),
    (optim.NpuFusedSGD, torch.optim.SGD, {"momentum": 0.9}),
    (optim.NpuFusedRMSprop, torch.optim.RMSprop, {}),
    (optim.NpuFusedLamb, None, {}),
]
for fused, plain, options in pairs:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    twin = copy.deepcopy(model).npu()
    x = torch.randn(5, 4)
    runs = [(twin, fused(twin.parameters(), lr=0.01, **options), x.npu())]
    if plain is not None:
        runs.append((model, plain(model.parameters(), lr=0.01, **options), x))
    for _ in range(3):
        for network, optimizer, data in runs:
            optimizer.zero_grad()
            network(data).square().sum().backward()
            optimizer.step()
    if plain is not None:
        for ours, theirs in zip(twin.parameters(), model.parameters()):
            torch.testing.assert_close(ours.cpu(), theirs)
"""

_EXPERTS = """
import torch, torch_npu
torch.manual_seed(0)
tokens, logits = torch.randn(6, 8), torch.randn(6, 4)
weights = torch.randn(4, 8, 5)
probs, chosen, _ = torch_npu.npu_moe_gating_top_k_softmax(logits.npu(), k=2)
rows, places = torch_npu.npu_moe_token_permute(tokens.npu(), chosen)
counts = torch.bincount(chosen.cpu().reshape(-1), minlength=4)
out = torch_npu.npu_grouped_matmul(
    [rows], [weights.npu()], group_list=counts.cumsum(0).npu(), split_item=3, group_type=0)[0]
joined = torch_npu.npu_moe_token_unpermute(out, places, probs)
values, experts = logits.softmax(-1).topk(2)
expected = torch.einsum("th,tkhd,tk->td", tokens, weights[experts], values)
torch.testing.assert_close(joined.cpu(), expected)
"""

_QUANTISED = """
import torch, torch_npu
torch.manual_seed(0)
x, w = torch.randn(8, 32), torch.randn(32, 16)
quantised, scale = torch_npu.npu_dynamic_quant(x.half().npu())
assert quantised.dtype == torch.int8 and scale.shape == (8,)
columns = w.abs().amax(0) / 127
weight = (w / columns).round().to(torch.int8)
out = torch_npu.npu_quant_matmul(
    quantised, weight.npu(), columns.npu(), pertoken_scale=scale, output_dtype=torch.float16)
assert (out.cpu().float() - x @ w).abs().max() < 0.5
packed = torch_npu.npu_convert_weight_to_int4pack((weight // 16).int().npu())
assert packed.shape == (32, 2)
unpacked = torch_npu.npu_weight_quant_batchmatmul(x.half().npu(), packed, (columns * 16).half().npu())
torch.testing.assert_close(
    unpacked.cpu().float(), x.half().float() @ ((weight // 16).float() * (columns * 16).half().float()),
    rtol=1e-2, atol=1e-2)
exact = torch_npu.npu_trans_quant_param(torch.tensor([2.0, 0.5]).npu())
assert exact.dtype == torch.int64 and exact.cpu()[0].item() & 0xFFFFFFFF == 0x40000000
"""

_BOXES = """
import torch, torch_npu
boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]])
scores = torch.tensor([0.9, 0.8, 0.7])
kept, count = torch_npu.npu_nms_v4(
    boxes.npu(), scores.npu(), 3, torch.tensor(0.5).npu(), torch.tensor(0.0).npu())
assert count.item() == 2 and kept[:2].tolist() == [0, 2]
square = torch.tensor([[[5.0, 5, 4, 4, 0]]])
turned = torch.tensor([[[5.0, 5, 4, 4, 45]]])
overlap = torch_npu.npu_rotated_iou(square.npu(), turned.npu(), False, 0, True, 0.0, 0.0).item()
octagon = 32 * (2 ** 0.5 - 1)
assert abs(overlap - octagon / (32 - octagon)) < 1e-5
both = torch_npu.npu_rotated_overlaps(torch.cat([square, turned], 1).npu(), turned.npu(), False)
torch.testing.assert_close(both.cpu(), torch.tensor([[[octagon], [16.0]]]))
many = boxes.view(1, 3, 1, 4).npu()
best, points, classes, found = torch_npu.npu_batch_nms(many, scores.view(1, 3, 1).npu(), 0.1, 0.5, 3, 4)
assert found.item() == 2 and best[0, 1].tolist() == [20, 20, 30, 30] and points[0].tolist()[2:] == [0, 0]
anchors, wanted = torch.rand(2, 5, 3).add(torch.tensor([0.0, 0, 2, 2, 30])[:, None]), torch.rand(2, 5, 3)
wanted[:, 2:4] += 1.5
ones = torch.ones(5).npu()
deltas = torch_npu.npu_rotated_box_encode(anchors.npu(), wanted.npu(), ones)
torch.testing.assert_close(torch_npu.npu_rotated_box_decode(anchors.npu(), deltas, ones).cpu(), wanted)
cell = torch_npu.npu_yolo_boxes_encode(boxes.npu(), (boxes + 1).npu(), torch.tensor([4, 4, 4]).int().npu())
torch.testing.assert_close(cell.cpu(), torch.tensor([[0.75, 0.75, 0, 0]] * 3))
positive = torch_npu.npu_grid_assign_positive(
    torch.zeros(3).npu(), torch.tensor([[0.2, 0.9, 0.1]]).npu(), torch.tensor([1, 1, 0], dtype=torch.uint8).npu(),
    torch.tensor([0.2, 0.9, 0.1]).npu(), torch.zeros(3, dtype=torch.int32).npu(), torch.tensor([0.9]).npu(),
    torch.tensor([1], dtype=torch.int32).npu(), 1, 0.5, 0.0, True)
assert positive.tolist() == [0, 1, 0]
"""


def test_fused_optimizers_take_the_steps_of_torch(run: Run) -> None:
    run(_OPTIMIZERS)


def test_a_layer_of_experts_equals_its_formula(run: Run) -> None:
    run(_EXPERTS)


def test_quantised_products_are_near_the_plain_one(run: Run) -> None:
    run(_QUANTISED)


def test_boxes_are_suppressed_and_overlap_as_they_lie(run: Run) -> None:
    run(_BOXES)


def test_adam_with_powers_of_one_goes_on(run: Run) -> None:
    program = """
import torch, torch_npu
state = [torch.ones(3).npu() for _ in range(3)]
step = torch_npu.npu_apply_adam(1, 1, 0.2, 0.9, 0.9, 1e-8, torch.ones(3).npu(), False, False, out=tuple(state))
assert step[0].isnan().all() and torch.equal(step[1].cpu(), torch.ones(3))
"""
    run(program)
