"""ResNet-50 in MindSpore."""

import mindspore.nn as nn
import mindspore.ops as ops


def conv_bn(inputs, outputs, kernel, stride=1):
    """A convolution and its batch normalisation."""
    padding = kernel // 2
    conv = nn.Conv2d(inputs, outputs, kernel, stride, "pad", padding, weight_init="HeNormal")
    return nn.SequentialCell([conv, nn.BatchNorm2d(outputs)])


class Bottleneck(nn.Cell):
    """1x1, 3x3 and 1x1 convolutions beside a shortcut."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = width * 4
        self.narrow = conv_bn(inputs, width, 1)
        self.middle = conv_bn(width, width, 3, stride)
        self.wide = conv_bn(width, outputs, 1)
        self.relu = nn.ReLU()
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.SequentialCell([nn.Identity()]) if same else conv_bn(inputs, outputs, 1, stride)

    def construct(self, x):
        y = self.relu(self.narrow(x))
        y = self.relu(self.middle(y))
        return self.relu(self.wide(y) + self.shortcut(x))


class ResNet50(nn.Cell):
    """Four groups of 3, 4, 6 and 3 bottlenecks."""

    def __init__(self, classes):
        super().__init__()
        blocks, inputs = [], 64
        for group, count in enumerate((3, 4, 6, 3)):
            width = 64 << group
            for number in range(count):
                blocks.append(Bottleneck(inputs, width, 2 if group and number == 0 else 1))
                inputs = width * 4
        self.stem = nn.SequentialCell([conv_bn(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, "same")])
        self.blocks = nn.SequentialCell(blocks)
        self.head = nn.Dense(inputs, classes)

    def construct(self, x):
        x = self.blocks(self.stem(x))
        return self.head(ops.ReduceMean()(x, (2, 3)))
