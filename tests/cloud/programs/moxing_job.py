import argparse
import os

import moxing as mox

parser = argparse.ArgumentParser()
parser.add_argument("--data_url")
parser.add_argument("--train_url")
args = parser.parse_args()
assert args.data_url.startswith("s3://")
mox.file.copy_parallel(args.data_url, "/cache/data")
os.makedirs("/cache/out")
open("/cache/out/result.txt", "w").write(open("/cache/data/a.txt").read().upper())
mox.file.copy_parallel(src_url="/cache/out", dst_url=args.train_url)
