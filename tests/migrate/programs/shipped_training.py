import argparse

import jumar_cloud

parser = argparse.ArgumentParser()
parser.add_argument("--data_path", default="missing.lst")
parser.add_argument("--auxiliary_dir", default="auxiliary")
parser.add_argument("--other_dir", default="train")
parser.add_argument("--arch", default="auxiliary")
jumar_cloud.add_arguments(parser, data=["data_path"], results=[])
args = jumar_cloud.stage(parser.parse_known_args())[0]
print("ARGS", args.data_path, args.auxiliary_dir, args.other_dir, args.arch, flush=True)
