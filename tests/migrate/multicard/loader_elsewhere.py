"""A script whose loaders are made in another file, with a logger and a scheduler that looks at the loss."""
import argparse
import logging

import torch
from its_loaders import get_data


def train(model, train_dl, loss_fn, optim):
    losses = 0
    model.train()
    for x, y in train_dl:
        loss = loss_fn(model(x), y)
        optim.zero_grad()
        loss.backward()
        optim.step()
        losses += loss.item()

    # the average
    return losses / len(list(train_dl))


def validate(model, valid_dl, loss_fn):
    losses = 0
    model.eval()
    for x, y in valid_dl:
        losses += loss_fn(model(x), y).detach()
    return losses / len(valid_dl)


def main(opts):
    # logging first
    logging.basicConfig(level=logging.INFO)
    train_dl, valid_dl, width = get_data(opts.batch_size)
    torch.manual_seed(4)
    model = torch.nn.Linear(width, 1)
    loss_fn = torch.nn.MSELoss()
    optim = torch.optim.SGD(model.parameters(), lr=0.05)
    for idx, epoch in enumerate(range(1, 3)):
        train_loss = train(model, train_dl, loss_fn, optim)
        val_loss = validate(model, valid_dl, loss_fn)
        logging.info("epoch %d", epoch)
        print(f"RESULT {idx} train {train_loss:.6f} val {val_loss.item():.6f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--save-model", default="")
    main(parser.parse_args())
