import argparse
import os

import jumar_cloud

parser = argparse.ArgumentParser()
parser.add_argument("--data_path", default="./data/train")
parser.add_argument("--save_dir", default="./ckpt/")
parser.add_argument("--pretrained", default=None)
parser.add_argument("--then", default="")
parser.add_argument("--device_id", type=int, default=0)
jumar_cloud.add_arguments(
    parser, data=["data_path"], results=["save_dir"], start=["pretrained"], devices={"device_id": "id"}
)
args = jumar_cloud.stage(parser.parse_known_args())[0]
try:
    print("ARGS", args.data_path, args.save_dir, args.pretrained, args.device_id, flush=True)
    os.makedirs(args.save_dir, exist_ok=True)
    with open(args.save_dir + "a.ckpt", "w") as out:
        out.write("weights")
    exec(args.then)
finally:
    jumar_cloud.upload()
