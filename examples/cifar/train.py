"""Train ResNet-50 on CIFAR-10, on one Ascend device: a script as it is written for one's own machine."""

import argparse

import mindspore.dataset as ds
import mindspore.dataset.vision as vision
import mindspore.nn as nn
from mindspore import Model, context, set_seed
from mindspore import dtype as mstype
from mindspore.dataset import transforms
from mindspore.train.callback import CheckpointConfig, LossMonitor, ModelCheckpoint

from resnet import ResNet50


def create_dataset(data_dir, training, batch_size, image_size, samples):
    """Images of CIFAR-10's binary files, normalised, in batches."""
    usage = "train" if training else "test"
    data = ds.Cifar10Dataset(data_dir, usage=usage, shuffle=training, num_samples=samples)
    images = [vision.Rescale(1 / 255, 0), vision.Normalize([0.491, 0.482, 0.447], [0.247, 0.243, 0.262]), vision.HWC2CHW()]
    if training:
        images.insert(0, vision.RandomHorizontalFlip())
    if image_size != 32:
        images.insert(0, vision.Resize((image_size, image_size)))
    data = data.map(images, "image", num_parallel_workers=8)
    data = data.map(transforms.TypeCast(mstype.int32), "label")
    return data.batch(batch_size, drop_remainder=True)


def main():
    parser = argparse.ArgumentParser(description="ResNet-50 on CIFAR-10")
    parser.add_argument("--data_path", default="./data/cifar-10-batches-bin")
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--image_size", type=int, default=224)
    parser.add_argument("--samples", type=int, default=None, help="read only so many records")
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--device_target", default="Ascend", choices=["Ascend", "GPU", "CPU"])
    args = parser.parse_args()

    set_seed(1)
    context.set_context(mode=context.GRAPH_MODE, device_target=args.device_target)
    train = create_dataset(args.data_path, True, args.batch_size, args.image_size, args.samples)
    test = create_dataset(args.data_path, False, args.batch_size, args.image_size, args.samples)
    net = ResNet50(10)
    optimizer = nn.Momentum(net.trainable_params(), args.lr, 0.9)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    model = Model(net, loss, optimizer, metrics={"accuracy"})
    steps = train.get_dataset_size()
    keep = CheckpointConfig(save_checkpoint_steps=steps, keep_checkpoint_max=2)
    saver = ModelCheckpoint(prefix="resnet", directory="./checkpoints", config=keep)
    print("training on", steps, "batches of", args.batch_size, flush=True)
    model.train(args.epochs, train, [LossMonitor(), saver], dataset_sink_mode=False)
    print("accuracy", model.eval(test, dataset_sink_mode=False)["accuracy"], flush=True)


if __name__ == "__main__":
    main()
