"""The main program of several files: it makes the model and the data, others train and evaluate."""

import argparse

import torch
from evaluate import evaluate
from loaders import loader_of
from network import Net
from trainer import Trainer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--save-model", default="")
    args = parser.parse_args()
    torch.manual_seed(3)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Net(width=8)
    trainer = Trainer(model, loader_of("train", args.batch_size), device)
    test_loader = loader_of("test", 16)
    for epoch in range(2):
        print("RESULT train", trainer.train(epoch))
        print("RESULT test", evaluate(trainer.model, test_loader, device))
    if args.save_model:
        trainer.save(args.save_model)


if __name__ == "__main__":
    main()
