import argparse

import jumar_cloud

parser = argparse.ArgumentParser()
parser.add_argument("data")
parser.add_argument("--save_dir", required=True)
parser.add_argument("--data_root", default="")
parser.add_argument("--val_dir", default="")
jumar_cloud.add_arguments(parser, data=["data", "data_root", "val_dir"], results=["save_dir"])
args = jumar_cloud.stage(parser.parse_known_args())[0]
print(args.data, args.save_dir, args.data_root, repr(args.val_dir))
