"""What a request to vLLM may ask for, on NPUs: `jumar run vllm_requests.py`. Penalties, biases, likely words, JSON.

The model is tiny and has random weights. `--cpu` answers the same requests with transformers (and xgrammar for JSON);
words must be equal. Sampled words are drawn by the card and cannot be: the script only checks them.
"""

from __future__ import annotations

import argparse
import tempfile
from typing import Any

import torch
import transformers

import vllm_generate

PROMPTS = ["a card", "cards and more cards", "how many?"]
NEW = 8
PENALTY = 1.5
BIAS = {40: 4.0, 41: -100.0}
LIKELY = 3
"""So many words with their probabilities at each step."""
SCHEMA = '{"type": "object", "properties": {"age": {"type": "integer", "maximum": 99}}, "required": ["age"]}'
COMPACT = {"backend": "xgrammar", "disable_any_whitespace": True}
SEEDS = range(50)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cpu", action="store_true", help="transformers on the CPU, to compare with")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        save(folder)
        found = with_transformers(folder, torch.float16) if options.cpu else with_vllm(folder)
    for step, token in enumerate(found):
        print(f"step {step} token {token} on {'cpu' if options.cpu else 'npu'}", flush=True)


def save(folder: str) -> None:
    """The first random weights with which float16 and float32 agree, also when scores are off by a rounding."""
    for seed in SEEDS:
        vllm_generate.save_random(folder, "qwen3", seed)
        vllm_generate.save_tokenizer(folder)
        exact = with_transformers(folder, torch.float32)
        if all(exact == with_transformers(folder, kind, 2 / 1024) for kind in (torch.float16, torch.float32)):
            return
    print("a rounding decides with all of the random weights: words may differ", flush=True)


def with_vllm(folder: str) -> list[int]:
    from vllm import LLM, SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    # vllm-ascend 0.18.0 does not tell the penalties what was generated when steps are scheduled ahead.
    llm = LLM(
        model=folder, dtype="float16", max_model_len=256, max_num_seqs=4, gpu_memory_utilization=0.02,
        enforce_eager=True, async_scheduling=False, structured_outputs_config=COMPACT,
    )  # fmt: skip

    def ask(**how: Any) -> list[Any]:
        asked = SamplingParams(**{"temperature": 0, "max_tokens": NEW, "ignore_eos": True, **how})
        return [one for output in llm.generate(PROMPTS, asked, use_tqdm=False) for one in output.outputs]

    check_samples(ask)
    schema = StructuredOutputsParams(json=SCHEMA)
    answers = [
        *ask(repetition_penalty=PENALTY),
        *ask(logit_bias=BIAS),
        *ask(structured_outputs=schema, max_tokens=30, ignore_eos=False),
    ]
    found = [token for one in answers for token in one.token_ids]
    for one in ask(logprobs=LIKELY):
        for step in one.logprobs:
            found += sorted(step, key=lambda token: -step[token].logprob)[:LIKELY]
    return found


def check_samples(ask: Any) -> None:
    """A seed repeats, `n` differ, the best word alone is the greedy one, and a stop word ends the text."""
    greedy = [one.token_ids for one in ask()]
    drawn = [[one.token_ids for one in ask(temperature=2.0, top_p=0.9, seed=7, n=3)] for _ in range(2)]
    text = ask()[0].text
    stopped = ask(stop=[text[2]])[0]
    checks = {
        "a seed repeats": drawn[0] == drawn[1],
        "three answers differ": len(set(map(tuple, drawn[0]))) == len(drawn[0]),
        "top_k=1 is greedy": greedy == [one.token_ids for one in ask(temperature=1.0, top_k=1)],
        "a stop word ends the text": stopped.finish_reason == "stop" and stopped.text == text[: text.index(text[2])],
    }
    for name, holds in checks.items():
        print(f"{name}: {holds}", flush=True)
    if not all(checks.values()):
        raise SystemExit(1)


def with_transformers(folder: str, dtype: torch.dtype, noise: float = 0.0) -> list[int]:
    import xgrammar

    net = vllm_generate.loaded(folder, dtype)
    words = transformers.AutoTokenizer.from_pretrained(folder)
    known = xgrammar.TokenizerInfo.from_huggingface(words, vocab_size=net.config.vocab_size)
    schema = xgrammar.GrammarCompiler(known).compile_json_schema(SCHEMA, any_whitespace=False)
    found: list[int] = []

    def answer(prompt: str, processor: Any = None, end: int = -1, most: int = NEW) -> Any:
        given = words(prompt, return_tensors="pt", return_token_type_ids=False)
        processors = [Off(noise), *([processor] if processor else [])]
        return net.generate(
            **given, do_sample=False, max_new_tokens=most, eos_token_id=end, pad_token_id=0, output_scores=True,
            logits_processor=transformers.LogitsProcessorList(processors), return_dict_in_generate=True,
        )  # fmt: skip

    def told(prompt: str, *how: Any) -> list[int]:
        return answer(prompt, *how).sequences[0, len(words(prompt).input_ids) :].tolist()

    penalty = transformers.RepetitionPenaltyLogitsProcessor(PENALTY)
    found += [token for prompt in PROMPTS for token in told(prompt, penalty)]
    found += [token for prompt in PROMPTS for token in told(prompt, Biased())]
    for prompt in PROMPTS:
        found += told(prompt, xgrammar.contrib.hf.LogitsProcessor(schema), words.eos_token_id, 30)
    for prompt in PROMPTS:
        for scores in answer(prompt).scores:
            found += scores[0].topk(LIKELY).indices.tolist()
    return found


class Biased(transformers.LogitsProcessor):
    def __call__(self, _: Any, scores: torch.Tensor) -> torch.Tensor:
        scores = scores.clone()
        scores[:, list(BIAS)] += torch.tensor(list(BIAS.values()), dtype=scores.dtype)
        return scores


class Off(transformers.LogitsProcessor):
    """Scores that are off by up to a rounding."""

    def __init__(self, by: float) -> None:
        self.by = by

    def __call__(self, _: Any, scores: torch.Tensor) -> torch.Tensor:
        return scores + self.by * scores.abs().amax() * (2 * torch.rand_like(scores) - 1)


if __name__ == "__main__":
    main()
