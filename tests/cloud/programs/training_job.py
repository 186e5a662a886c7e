import argparse
import json
import os
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--data_url")
parser.add_argument("--train_url")
parser.add_argument("--fail", default="")
args, _ = parser.parse_known_args()
rank = os.environ["RANK_ID"]
print("rank", rank, "sees", sorted(os.listdir(args.data_url)))
table = json.load(open(os.environ["RANK_TABLE_FILE"]))
ranks = [device["rank_id"] for device in table["server_list"][0]["device"]]
assert ranks == [str(number) for number in range(int(os.environ["RANK_SIZE"]))]
assert os.getcwd().endswith("device" + rank), os.getcwd()
assert json.load(open("/user/config/jobstart_hccl.json"))["status"] == "completed"
os.makedirs("/cache", exist_ok=True)
open("/cache/scratch", "w").write("x")
if args.fail == rank:
    sys.exit(7)
if args.fail:
    import time

    time.sleep(60)
os.makedirs(args.train_url, exist_ok=True)
with open(os.path.join(args.train_url, "env-" + rank + ".json"), "w") as file:
    json.dump(dict(os.environ, ARGS=" ".join(sys.argv[1:]), PATH0=sys.path[0]), file)
