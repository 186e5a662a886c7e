import helpers
import torch
import yaml

with open("config.yaml") as file:
    device = torch.device(yaml.safe_load(file)["device"])
if device.type == "cuda":
    helpers.run(device)
