import argparse
import os

parser = argparse.ArgumentParser()
parser.add_argument("--data_url")
parser.add_argument("--train_url")
args, _ = parser.parse_known_args()
print(dict(os.environ))
open(os.path.join(args.train_url, "model.bin"), "wb").write(open(os.path.join(args.data_url, "a.bin"), "rb").read())
