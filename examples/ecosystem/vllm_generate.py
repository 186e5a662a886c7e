"""Text generation by vLLM on NPUs, with requests in one batch: `jumar run vllm_generate.py [--cards 2] [--graph]`.

The model is a tiny Llama with random weights. `--cpu` generates the same with transformers; greedy choices must be equal.
Two of the prompts begin alike and are longer than a page of the cache, so the second run reads pages of the first;
prompts come in pieces, because a step takes 64 words at most.
"""

from __future__ import annotations

import argparse
import tempfile

import torch
from transformers import LlamaConfig, LlamaForCausalLM

NEW = 8
SHARED = [7 * i % 500 for i in range(140)]
PROMPTS = [[1, 5, 9, 33, 77], [2, 8], [*SHARED, 5], [*SHARED, 6, 7], [4, 400]]


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        save(folder)
        found = with_transformers(folder) if options.cpu else with_vllm(folder, options)
    step = 0
    for run in found:
        for tokens in run:
            for token in tokens:
                print(f"step {step} token {token} on {'cpu' if options.cpu else 'npu'}", flush=True)
                step += 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cpu", action="store_true", help="transformers on the CPU, to compare with")
    parser.add_argument("--cards", type=int, default=1, help="cards that share the model (tensor parallel)")
    parser.add_argument("--graph", action="store_true", help="ACL graphs instead of eager mode")
    return parser.parse_args()


def save(folder: str) -> None:
    """Weights wide enough that no two words are nearly as likely: a rounding must not decide."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=512, hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=512, initializer_range=0.2,
    )  # fmt: skip
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)


def with_vllm(folder: str, options: argparse.Namespace) -> list[list[list[int]]]:
    """What each prompt gives, twice: the second time the cache has their beginnings."""
    from vllm import LLM, SamplingParams

    llm = LLM(
        model=folder, skip_tokenizer_init=True, dtype="bfloat16", max_model_len=256, block_size=128, max_num_seqs=4,
        max_num_batched_tokens=64, gpu_memory_utilization=0.02, enable_prefix_caching=True,
        tensor_parallel_size=options.cards, enforce_eager=not options.graph,
    )  # fmt: skip
    greedy = SamplingParams(temperature=0, max_tokens=NEW, detokenize=False, ignore_eos=True)
    found = []
    for run in range(2):
        outputs = llm.generate([{"prompt_token_ids": prompt} for prompt in PROMPTS], greedy)
        print(f"run {run}: {sum(one.num_cached_tokens or 0 for one in outputs)} words were in the cache", flush=True)
        found.append([list(one.outputs[0].token_ids) for one in outputs])
    return found


def with_transformers(folder: str) -> list[list[list[int]]]:
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    found = []
    for prompt in PROMPTS:
        rows = torch.tensor([prompt])
        whole = model.generate(
            rows, attention_mask=torch.ones_like(rows), do_sample=False, max_new_tokens=NEW, min_new_tokens=NEW,
            pad_token_id=0,
        )  # fmt: skip
        found.append(whole[0, len(prompt) :].tolist())
    return [found, found]


if __name__ == "__main__":
    main()
