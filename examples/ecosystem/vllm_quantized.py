"""vLLM on NPUs with 8-bit weights, saved as msModelSlim saves them: `jumar run vllm_quantized.py [--scheme W8A16]`.

The model is tiny and has random weights. `--cpu` generates the same with transformers, whose linear layers round as the
scheme says; greedy choices must be equal.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import vllm_generate

NEW = 4
PROMPTS = [[1, 5, 9, 33, 77], [2, 8], [*range(3, 90, 2)], [4, 400]]
OFFSET = 3
"""What stands for zero in activations of the static scheme."""
NOISE = 4 / 2048
"""Some roundings of float16: an activation that they move by a whole number must not decide."""
SCHEMES = {
    "W8A8": "activations of 8 bits too, with a scale that was measured before",
    "W8A8_DYNAMIC": "activations of 8 bits too, with a scale for each word",
    "W8A16": "only weights of 8 bits",
}


class Rounded(nn.Module):
    """A linear layer in whole numbers. Each output has a scale for its weights."""

    def __init__(self, scheme: str, layer: Any, peak: float) -> None:
        super().__init__()
        self.scheme, self.bias = scheme, layer.bias
        self.scale = (layer.weight.abs().amax(1, keepdim=True) / 127).half()
        self.whole = (layer.weight / self.scale.float()).round().clamp(-127, 127).to(torch.int8)
        self.step = torch.tensor([peak / 120]).half()
        self.noise = 0.0

    def forward(self, x: Tensor) -> Tensor:
        x = x.half().float() * (1 + self.noise * torch.randn_like(x))
        step = x.abs().amax(-1, keepdim=True) / 127 if self.scheme == "W8A8_DYNAMIC" else self.step.float()
        if self.scheme == "W8A8":
            x = (x / step + OFFSET).round().clamp(-128, 127) - OFFSET
        elif self.scheme == "W8A8_DYNAMIC":
            x = (x / step).round()
        found = x @ (self.whole * self.scale.float()).T
        found = found if self.scheme == "W8A16" else found * step
        return (found if self.bias is None else found + self.bias).half().float()

    def saved(self) -> dict[str, Tensor]:
        """What the file of weights has for the layer."""
        found = {"weight": self.whole, "weight_scale": self.scale, "weight_offset": torch.zeros_like(self.scale)}
        if self.scheme == "W8A8":
            scale = self.step.float() * self.scale.float().flatten()
            bias = -OFFSET * self.whole.int().sum(1)
            if self.bias is not None:
                bias += (self.bias / scale).round().int()
            found |= {"input_scale": self.step, "input_offset": torch.tensor([OFFSET]).half(), "quant_bias": bias.int()}
            found["deq_scale"] = scale.view(torch.int32).long()  # The chip takes the bits of a float in 64 of them.
        return found


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        net = save(folder, options)
        found = vllm_generate.greedy(net, PROMPTS, NEW) if options.cpu else with_vllm(folder, options)
    for step, token in enumerate(token for tokens in found for token in tokens):
        print(f"step {step} token {token} on {'cpu' if options.cpu else 'npu'}", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(formatter_class=argparse.RawTextHelpFormatter)
    told = "\n".join(f"{name}: {what}" for name, what in SCHEMES.items())
    parser.add_argument("--scheme", choices=SCHEMES, default="W8A8", help=told)
    parser.add_argument("--model", choices=("qwen2", "qwen3", "llama"), default="qwen3", help="the kind of network")
    parser.add_argument("--cpu", action="store_true", help="transformers on the CPU, to compare with")
    parser.add_argument("--graph", action="store_true", help="ACL graphs instead of eager mode")
    return parser.parse_args()


def save(folder: str, options: argparse.Namespace) -> Any:
    """Save the first random weights with which no rounding of activations decides; give the network that rounds."""
    for seed in range(100):
        vllm_generate.save_random(folder, options.model, seed, num_hidden_layers=1)
        net = rounded(folder, options.scheme)
        words = vllm_generate.greedy(net, PROMPTS, NEW)
        if all(words == with_noise(net) for _ in range(4)):
            break
    else:
        print("a rounding decides with all of the random weights: tokens may differ", flush=True)
    weights, kinds = load_file(f"{folder}/model.safetensors"), {}
    for name in list(weights):
        kinds[name] = "FLOAT"
    for name, layer in net.named_modules():
        if isinstance(layer, Rounded):
            parts = {f"{name}.{part}": value.contiguous() for part, value in layer.saved().items()}
            weights |= parts
            kinds |= dict.fromkeys(parts, options.scheme)
            kinds |= {f"{name}.bias": options.scheme} if layer.bias is not None else {}
    save_file(weights, f"{folder}/model.safetensors", metadata={"format": "pt"})
    Path(folder, "quant_model_description.json").write_text(json.dumps(kinds), encoding="utf-8")
    return net


def rounded(folder: str, scheme: str) -> Any:
    """The network with the linear layers of its blocks in whole numbers; prompts tell their largest inputs."""
    net = vllm_generate.loaded(folder, torch.float32)
    layers = {name: one for name, one in net.named_modules() if isinstance(one, nn.Linear) and name.endswith("_proj")}
    peaks = dict.fromkeys(layers, 0.0)

    def keep(name: str) -> Any:
        return lambda _, given: peaks.update({name: max(peaks[name], float(given[0].abs().max()))})

    hooks = [layer.register_forward_pre_hook(keep(name)) for name, layer in layers.items()]
    vllm_generate.greedy(net, PROMPTS, NEW)
    for hook in hooks:
        hook.remove()
    for name, layer in layers.items():
        net.set_submodule(name, Rounded(scheme, layer, peaks[name]).requires_grad_(False))
    return net


def with_noise(net: Any) -> list[list[int]]:
    """The words when each input of a layer is off by some roundings of float16."""
    layers = [one for one in net.modules() if isinstance(one, Rounded)]
    for one in layers:
        one.noise = NOISE
    found = vllm_generate.greedy(net, PROMPTS, NEW)
    for one in layers:
        one.noise = 0.0
    return found


def with_vllm(folder: str, options: argparse.Namespace) -> list[list[int]]:
    from vllm import LLM, SamplingParams

    llm = LLM(
        model=folder, quantization="ascend", skip_tokenizer_init=True, dtype="float16", max_model_len=256,
        max_num_seqs=4, gpu_memory_utilization=0.02, enforce_eager=not options.graph,
    )  # fmt: skip
    best = SamplingParams(temperature=0, max_tokens=NEW, detokenize=False, ignore_eos=True)
    outputs = llm.generate([{"prompt_token_ids": prompt} for prompt in PROMPTS], best)
    return [list(one.outputs[0].token_ids) for one in outputs]


if __name__ == "__main__":
    main()
