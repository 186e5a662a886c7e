from torchvision.ops import roi_align as roi_align
