"""A small recurrent language model: hidden state from a method, the best model saved whole and loaded again."""
import argparse
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--save-model", default="")
args = parser.parse_args()


class RNNModel(nn.Module):
    def __init__(self, ntoken):
        super().__init__()
        self.ntoken, self.nhid = ntoken, 6
        self.encoder = nn.Embedding(ntoken, 6)
        self.rnn = nn.GRU(6, 6, batch_first=True)
        self.decoder = nn.Linear(6, ntoken)

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return weight.new_zeros(1, bsz, self.nhid)

    def forward(self, tokens, hidden):
        output, hidden = self.rnn(self.encoder(tokens), hidden)
        return self.decoder(output), hidden


class Text(Dataset):
    def __init__(self, size, seed):
        start = torch.randint(0, 7, (size, 1), generator=torch.Generator().manual_seed(seed))
        self.tokens = (start + torch.arange(6)) % 7

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return self.tokens[index, :-1], self.tokens[index, 1:]


def train(model, loader, criterion, optimizer):
    model.train()
    total_loss = 0.
    ntokens = 0
    for tokens, targets in loader:
        hidden = model.init_hidden(tokens.size(0))
        optimizer.zero_grad()
        output, hidden = model(tokens, hidden)
        loss = criterion(output.reshape(-1, model.ntoken), targets.reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total_loss += loss.item() * targets.numel()
        ntokens += targets.numel()
    return total_loss / ntokens


def evaluate(model, loader, criterion):
    model.eval()
    total_loss = 0.
    with torch.no_grad():
        for tokens, targets in loader:
            output, _ = model(tokens, model.init_hidden(tokens.size(0)))
            total_loss += criterion(output.reshape(-1, model.ntoken), targets.reshape(-1)).item()
    return total_loss / len(loader)


def run():
    torch.manual_seed(11)
    train_data = Text(32, 1)
    val_data = Text(16, 2)
    train_loader = DataLoader(train_data, args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_data, 8)
    model = RNNModel(7)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    best_val_loss = None
    for epoch in range(1, 4):
        train_loss = train(model, train_loader, criterion, optimizer)
        val_loss = evaluate(model, val_loader, criterion)
        print('RESULT epoch {} train {:.6f} valid {:.6f} ppl {:.5f}'.format(
            epoch, train_loss, val_loss, math.exp(val_loss)))
        if args.save_model and (not best_val_loss or val_loss < best_val_loss):
            with open(args.save_model, 'wb') as f:
                torch.save(model, f)
            best_val_loss = val_loss

    if args.save_model:
        with open(args.save_model, 'rb') as f:
            model = torch.load(f, weights_only=False)
        model.rnn.flatten_parameters()
        print('RESULT best {:.6f}'.format(evaluate(model, val_loader, criterion)))


if __name__ == '__main__':
    run()
