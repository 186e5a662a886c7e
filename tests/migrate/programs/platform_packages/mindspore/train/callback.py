import os


class CheckpointConfig:
    pass


class ModelCheckpoint:
    def __init__(self, prefix="CKP", directory=None, config=None):
        self.path = os.path.join(directory or os.getcwd(), prefix + ".ckpt")
        os.makedirs(os.path.dirname(self.path), exist_ok=True)


class Model:
    def train(self, epochs, dataset, callbacks):
        from mindspore import context

        for one in callbacks:
            open(one.path, "w").write("weights")
        print("TRAINS", sorted(context.said.items()), flush=True)
