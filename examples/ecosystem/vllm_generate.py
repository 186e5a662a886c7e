"""Text generation by vLLM on NPUs, with requests in one batch: `jumar run vllm_generate.py [--model NAME] [--cards 2]`.

The model is tiny and has random weights. `--cpu` generates the same with transformers; greedy choices must be equal.
Two of the prompts begin alike and are longer than a page of the cache, so the second run reads pages of the first;
prompts come in pieces, because a step takes 64 words at most. `--save FOLDER` only writes the model, with a tokenizer.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from typing import Any

import torch
import transformers

NEW = 8
SHARED = [7 * i % 500 for i in range(140)]
PROMPTS = [[1, 5, 9, 33, 77], [2, 8], [*SHARED, 5], [*SHARED, 6, 7], [4, 400]]
REPEATING = [[*([3, 14, 15, 92] * 6), 3, 14], [*([8, 9] * 10)]]
"""What a draft by n-grams can guess."""

COMMON = {
    "vocab_size": 512, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 512, "initializer_range": 0.2,
}  # fmt: skip
"""Weights wide enough that few words are nearly as likely: a rounding must not decide."""
MARGIN = 2 / 1024
"""Two roundings of float16: what the best word or expert must be ahead of the next one, as a share of its score."""
EXPERTS = {"moe_intermediate_size": 128, "num_experts_per_tok": 2}
LATENT = {
    "num_key_value_heads": 4, "q_lora_rank": 64, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
    "v_head_dim": 128, "n_routed_experts": 8, "n_shared_experts": 1, "first_k_dense_replace": 1,
}  # fmt: skip
MODELS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "llama": ("Llama", 0, {}),
    "qwen2": ("Qwen2", 0, {}),
    "qwen3": ("Qwen3", 6, {"head_dim": 64}),
    "qwen3-moe": ("Qwen3Moe", 85, {**EXPERTS, "head_dim": 64, "num_experts": 8, "norm_topk_prob": True}),
    "mixtral": ("Mixtral", 27, {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": None}),
    "gemma": ("Gemma", 2, {"head_dim": 64}),
    "phi3": ("Phi3", 0, {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}),
    "deepseek-v2": ("DeepseekV2", 3, {**EXPERTS, **LATENT, "topk_method": "greedy", "n_group": 1, "topk_group": 1}),
    "deepseek-v3": (
        "DeepseekV3",
        1,
        {**EXPERTS, **LATENT, "topk_method": "noaux_tc", "scoring_func": "sigmoid", "n_group": 2, "topk_group": 1},
    ),
}
"""The architecture in transformers, the seed to begin with, and what the configuration has beside what all have."""
ADAPTERS = {
    "attention": ["q_proj", "k_proj", "v_proj", "o_proj"],
    "everything": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
}
"""Low-rank adapters and the layers that they change."""


def main() -> None:
    options = _options()
    if options.save:
        save(options.save, options)
        save_tokenizer(options.save)
        return
    with tempfile.TemporaryDirectory() as folder:
        save(folder, options)
        found = with_transformers(folder, options) if options.cpu else with_vllm(folder, options)
    step = 0
    for run in found:
        for tokens in run:
            for token in tokens:
                print(f"step {step} token {token} on {'cpu' if options.cpu else 'npu'}", flush=True)
                step += 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS, default="llama", help="the kind of network")
    parser.add_argument("--cpu", action="store_true", help="transformers on the CPU, to compare with")
    parser.add_argument("--cards", type=int, default=1, help="cards that share the model (tensor parallel)")
    parser.add_argument("--pipeline", type=int, default=1, help="groups of cards that have some of the layers each")
    parser.add_argument("--experts", action="store_true", help="whole experts on each card (expert parallel)")
    parser.add_argument("--graph", action="store_true", help="ACL graphs instead of eager mode")
    parser.add_argument("--draft", action="store_true", help="speculative decoding: guesses from n-grams of the prompt")
    parser.add_argument("--lora", action="store_true", help="each prompt also with two low-rank adapters, in one batch")
    parser.add_argument(
        "--sleep", action="store_true", help="between the runs, give up the memory of weights and cache"
    )
    parser.add_argument("--save", metavar="FOLDER", help="only save the model and a tokenizer, to be served")
    return parser.parse_args()


def save(folder: str, options: argparse.Namespace) -> None:
    """The first random weights with which no rounding decides, of words or of experts: kernels round differently."""
    first = MODELS[options.model][1]
    for seed in range(first, first + 25):
        save_random(folder, options.model, seed)
        if options.lora:
            save_adapters(folder)
        # Read from the folder: a network that is converted in memory has rounded rotary frequencies.
        exact = [(net, greedy(net, prompts(options))) for net in networks(folder, options, torch.float32)]
        rounded = [greedy(net, prompts(options)) for net in networks(folder, options)]
        if rounded == [words for _, words in exact] and all(
            is_decided(net, prompts(options), new) for net, new in exact
        ):
            return
    print("a rounding decides with all of the random weights: tokens may differ", flush=True)


def save_random(folder: str, model: str, seed: int, **own: Any) -> None:
    family, _, common = MODELS[model]
    kind = getattr(transformers, f"{family}Config")
    torch.manual_seed(seed)
    net = getattr(transformers, f"{family}ForCausalLM")(kind(**{**COMMON, **common, **own}))
    net.to(torch.float16).save_pretrained(folder)


def save_adapters(folder: str) -> None:
    import peft

    for name, layers in ADAPTERS.items():
        config = peft.LoraConfig(r=8, target_modules=layers, init_lora_weights=False, task_type="CAUSAL_LM")
        peft.get_peft_model(loaded(folder), config).save_pretrained(f"{folder}/{name}")


def save_tokenizer(folder: str) -> None:
    """A word for each byte, so that any text can be asked and answered."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    words = ["<pad>", "<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    words += [f"<unused{i}>" for i in range(COMMON["vocab_size"] - len(words))]
    parts = Tokenizer(models.BPE(vocab={word: i for i, word in enumerate(words)}, merges=[]))
    parts.pre_tokenizer, parts.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    whole = transformers.PreTrainedTokenizerFast(tokenizer_object=parts, pad_token="<pad>", eos_token="</s>")
    whole.chat_template = "{% for one in messages %}{{ one.role }}: {{ one.content }}\n{% endfor %}assistant: "
    whole.save_pretrained(folder)


def networks(folder: str, options: argparse.Namespace, dtype: torch.dtype = torch.float16) -> list[Any]:
    """The network, and with `--lora` once more with each adapter."""
    if not options.lora:
        return [loaded(folder, dtype)]
    import peft

    adapted = [peft.PeftModel.from_pretrained(loaded(folder, dtype), f"{folder}/{name}") for name in ADAPTERS]
    return [loaded(folder, dtype), *adapted]


def loaded(folder: str, dtype: torch.dtype = torch.float16) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)


@torch.no_grad()
def is_decided(net: Any, given: list[list[int]], words: list[list[int]]) -> bool:
    """Whether each word is clearly the best one, and so are the experts of every place, where a layer tells scores."""
    scores: list[tuple[torch.Tensor, int]] = []
    active = getattr(net.config, "num_experts_per_tok", 1)

    def keep(module: Any, _: Any, found: Any) -> None:
        scores.append((found.reshape(-1, found.shape[-1]), active))

    routers = [one for name, one in net.named_modules() if name.endswith(".gate") and isinstance(one, torch.nn.Linear)]
    hooks = [one.register_forward_hook(keep) for one in routers]
    for prompt, new in zip(given, words):
        scores.append((net(torch.tensor([prompt + new[:-1]])).logits[0, len(prompt) - 1 :], 1))
    for hook in hooks:
        hook.remove()
    return all(_is_ahead(rows, chosen) for rows, chosen in scores)


def _is_ahead(rows: torch.Tensor, chosen: int) -> bool:
    best = rows.topk(chosen + 1).values
    return bool((best[:, -2] - best[:, -1] >= MARGIN * rows.abs().amax(-1)).all())


def prompts(options: argparse.Namespace) -> list[list[int]]:
    return [*PROMPTS, *REPEATING] if options.draft else PROMPTS


def with_vllm(folder: str, options: argparse.Namespace) -> list[list[list[int]]]:
    """What each prompt gives, twice: the second time the cache has their beginnings."""
    from vllm import LLM, SamplingParams

    if options.lora:  # peft has used the card in this process already: the engine cannot be a fork of it
        os.environ.setdefault("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
    if options.sleep:  # vllm-ascend does not wake up weights in the cube's own format
        os.environ.setdefault("VLLM_ASCEND_ENABLE_NZ", "0")
    # Steps scheduled ahead mislead a pipeline of vllm-ascend 0.18.0: it puts guesses into prompts that come in pieces.
    draft = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3, "prompt_lookup_min": 2}
    llm = LLM(
        model=folder, skip_tokenizer_init=True, dtype="float16", max_model_len=256, block_size=128, max_num_seqs=4,
        max_num_batched_tokens=64, gpu_memory_utilization=0.02, enable_prefix_caching=True,
        tensor_parallel_size=options.cards, pipeline_parallel_size=options.pipeline,
        enable_expert_parallel=options.experts, enforce_eager=not options.graph, enable_sleep_mode=options.sleep,
        speculative_config=draft if options.draft else None, enable_lora=options.lora, max_loras=len(ADAPTERS),
        async_scheduling=None if options.pipeline == 1 else False,
    )  # fmt: skip
    best = SamplingParams(temperature=0, max_tokens=NEW, detokenize=False, ignore_eos=True)
    asked = [{"prompt_token_ids": prompt} for prompt in prompts(options)]
    adapters = _adapters(folder) if options.lora else [None]
    found = []
    for run in range(2):
        if run and options.sleep:
            llm.sleep()
            llm.wake_up()
        outputs = llm.generate(
            asked * len(adapters), best, lora_request=[adapter for adapter in adapters for _ in asked]
        )
        print(f"run {run}: {sum(one.num_cached_tokens or 0 for one in outputs)} words were in the cache", flush=True)
        found.append([list(one.outputs[0].token_ids) for one in outputs])
    return found


def _adapters(folder: str) -> list[Any]:
    from vllm.lora.request import LoRARequest

    return [None, *(LoRARequest(name, number, f"{folder}/{name}") for number, name in enumerate(ADAPTERS, 1))]


def with_transformers(folder: str, options: argparse.Namespace) -> list[list[list[int]]]:
    found = [new for net in networks(folder, options) for new in greedy(net, prompts(options))]
    return [found, found]


def greedy(net: Any, given: list[list[int]], new: int = NEW) -> list[list[int]]:
    """The words that transformers puts after each prompt."""
    found = []
    for prompt in given:
        rows = torch.tensor([prompt])
        whole = net.generate(
            rows, attention_mask=torch.ones_like(rows), do_sample=False, max_new_tokens=new, min_new_tokens=new,
            pad_token_id=0,
        )  # fmt: skip
        found.append(whole[0, len(prompt) :].tolist())
    return found


if __name__ == "__main__":
    main()
