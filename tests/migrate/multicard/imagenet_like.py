"""`main` starts `main_worker`; meters, `validate`, a best accuracy and a checkpoint function with a copy."""
import argparse
import logging
import os
import shutil

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

best_acc1 = 0
logger = logging.getLogger(__name__)


class AverageMeter(object):
    def __init__(self):
        self.sum, self.count, self.avg = 0, 0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


def get_loaders(args):
    x = torch.randn(80, 10, generator=torch.Generator().manual_seed(4))
    y = (x[:, 0] + x[:, 1] > 0).long()
    train_dataset, val_dataset = TensorDataset(x[:48], y[:48]), TensorDataset(x[48:], y[48:])
    train_loader = DataLoader(
        train_dataset, batch_size=args.batch_size, shuffle=True,
        num_workers=0, pin_memory=False, sampler=None)
    val_loader = DataLoader(val_dataset, batch_size=16, shuffle=False)
    return train_loader, val_loader


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--save-model", default="")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    main_worker(args)


def main_worker(args):
    global best_acc1
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 2))
    if torch.cuda.is_available():
        torch.cuda.set_device(0)
        model = torch.nn.DataParallel(model).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.2, momentum=0.9)
    if args.save_model and os.path.isfile(args.save_model):
        model.load_state_dict(torch.load(args.save_model)["state_dict"])
    criterion = nn.CrossEntropyLoss()
    train_loader, val_loader = get_loaders(args)

    for epoch in range(0, 2):
        train(train_loader, model, criterion, optimizer, epoch)
        acc1 = validate(val_loader, model, criterion)
        is_best = acc1 > best_acc1
        best_acc1 = max(acc1, best_acc1)
        if args.save_model:
            save_checkpoint({"epoch": epoch + 1, "state_dict": model.state_dict()}, is_best, args.save_model)
    print("RESULT best %.4f" % best_acc1)


def train(train_loader, model, criterion, optimizer, epoch):
    losses = AverageMeter()
    model.train()
    for i, (images, target) in enumerate(train_loader):
        loss = criterion(model(images), target)
        losses.update(loss.item(), images.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    logger.info("epoch %d loss %.4f", epoch, losses.avg)


def validate(val_loader, model, criterion):
    model.eval()
    correct, total, loss_sum = 0, 0, 0.0
    with torch.no_grad():
        for images, target in val_loader:
            output = model(images)
            loss_sum += criterion(output, target).item()
            correct += (output.argmax(1) == target).sum()
            total += target.size(0)
    print(f"RESULT val loss {loss_sum / len(val_loader):.6f}")
    return 100.0 * correct.item() / total


def save_checkpoint(state, is_best, filename="checkpoint.pth.tar"):
    torch.save(state, filename)
    if is_best:
        shutil.copyfile(filename, filename + ".best")


if __name__ == "__main__":
    main()
