"""Train the shape classifier on one card."""

import argparse
import os
import time

import torch
import yaml
from torch.cuda.amp import GradScaler, autocast
from torch.nn import functional as F

import data
import model as models

torch.backends.cudnn.benchmark = True


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "config.yaml"))
    parser.add_argument("--device", default=None, help="cuda, cuda:1 or cpu; default: what the config says")
    parser.add_argument("--no-amp", action="store_true", help="train in float32")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--output", default="out")
    parser.add_argument("--resume")
    return parser.parse_args()


def train_epoch(model, loader, optimizer, scaler, device, use_amp):
    model.train()
    total = torch.zeros((), device=device)
    for pictures, labels in loader:
        pictures = pictures.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with autocast(enabled=use_amp):
            loss = F.cross_entropy(model(pictures), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        total += loss.detach()
    return (total / len(loader)).item()


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    right = count = 0
    for pictures, labels in loader:
        predicted = model(pictures.to(device)).argmax(1)
        right += (predicted == labels.to(device)).sum().item()
        count += len(labels)
    return right / count


def save(path, model, optimizer, epoch):
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
    if torch.cuda.is_available():
        state["cuda_rng"] = torch.cuda.get_rng_state_all()
    torch.save(state, path)


def main():
    args = parse()
    with open(args.config) as file:
        config = yaml.safe_load(file)
    device = torch.device(args.device or config["device"])
    if device.type == "cuda" and not torch.cuda.is_available():
        raise SystemExit("this program needs a CUDA card; try --device cpu")
    on_card = device.type == "cuda"
    use_amp = on_card and config["amp"] and not args.no_amp

    train_loader, test_loader = data.loaders(config)
    model = models.build(config)
    if on_card:
        torch.cuda.set_device(device.index or 0)
        model = model.cuda()
        print(f"training on {torch.cuda.get_device_name()}")
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=0.9, weight_decay=5e-4)
    scaler = GradScaler(enabled=use_amp)
    first = 0
    if args.resume:
        state = torch.load(args.resume, map_location=device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["epoch"] + 1

    os.makedirs(args.output, exist_ok=True)
    for epoch in range(first, args.epochs or config["epochs"]):
        start = time.perf_counter()
        loss = train_epoch(model, train_loader, optimizer, scaler, device, use_amp)
        if on_card:
            torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        accuracy = evaluate(model, test_loader, device)
        memory = torch.cuda.max_memory_allocated() / 2**20 if on_card else 0
        print(f"epoch {epoch} loss {loss:.6f} accuracy {accuracy:.3f} {seconds:.1f} s {memory:.0f} MiB", flush=True)
        save(os.path.join(args.output, "last.pt"), model, optimizer, epoch)


if __name__ == "__main__":
    main()
