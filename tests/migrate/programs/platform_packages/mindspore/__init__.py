from types import SimpleNamespace  # noqa: F401

from mindspore import context, nn  # noqa: F401
from mindspore.train.callback import CheckpointConfig, Model, ModelCheckpoint  # noqa: F401


def save_checkpoint(net, name):
    open(name, "w").write("net")


def load_checkpoint(name):
    return open(name).read()
