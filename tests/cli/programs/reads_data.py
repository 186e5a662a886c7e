import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--data_dir", default="data")
args = parser.parse_args()
data = torch.load(args.data_dir + "/x.pt")
torch.zeros(1).cuda()
