import torch
import torch_npu

boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]])
scores = torch.tensor([0.9, 0.8, 0.7])
kept, count = torch_npu.npu_nms_v4(boxes.npu(), scores.npu(), 3, torch.tensor(0.5).npu(), torch.tensor(0.0).npu())
assert count.item() == 2 and kept[:2].tolist() == [0, 2]
square = torch.tensor([[[5.0, 5, 4, 4, 0]]])
turned = torch.tensor([[[5.0, 5, 4, 4, 45]]])
overlap = torch_npu.npu_rotated_iou(square.npu(), turned.npu(), False, 0, True, 0.0, 0.0).item()
octagon = 32 * (2**0.5 - 1)
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
    torch.zeros(3).npu(),
    torch.tensor([[0.2, 0.9, 0.1]]).npu(),
    torch.tensor([1, 1, 0], dtype=torch.uint8).npu(),
    torch.tensor([0.2, 0.9, 0.1]).npu(),
    torch.zeros(3, dtype=torch.int32).npu(),
    torch.tensor([0.9]).npu(),
    torch.tensor([1], dtype=torch.int32).npu(),
    1,
    0.5,
    0.0,
    True,
)
assert positive.tolist() == [0, 1, 0]
