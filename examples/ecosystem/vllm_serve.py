"""A vLLM server on an NPU, asked by the `openai` client: `jumar run vllm_serve.py`. Words come in a stream.

The model is tiny and has random weights. `--cpu` generates the same with transformers; greedy choices must be equal.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator

import vllm_generate

LIMIT = 600
"""Seconds that the server may take to start."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cpu", action="store_true", help="transformers on the CPU, to compare with")
    options = parser.parse_args()
    chosen = argparse.Namespace(model="qwen3", draft=False, lora=False)
    with tempfile.TemporaryDirectory() as folder:
        vllm_generate.save(folder, chosen)
        vllm_generate.save_tokenizer(folder)
        if options.cpu:
            found = vllm_generate.greedy(vllm_generate.loaded(folder), vllm_generate.PROMPTS)
        else:
            with server(folder) as address:
                found = [ask(address, prompt) for prompt in vllm_generate.PROMPTS]
    for step, token in enumerate(token for tokens in found for token in tokens):
        print(f"step {step} token {token} on {'cpu' if options.cpu else 'npu'}", flush=True)


@contextlib.contextmanager
def server(folder: str) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["vllm", "serve", folder, "--served-model-name", "tiny", "--port", str(port), "--dtype", "float16"]
    words += ["--enforce-eager", "--max-model-len", "256", "--gpu-memory-utilization", "0.02"]
    started = subprocess.Popen(words)
    try:
        wait(f"http://127.0.0.1:{port}/health", started)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        started.terminate()
        started.wait()


def wait(address: str, started: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + LIMIT
    while time.monotonic() < end and started.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5):
            return
        time.sleep(1)
    raise SystemExit("the server did not start")


def ask(address: str, prompt: list[int]) -> list[int]:
    import openai

    client = openai.OpenAI(base_url=address, api_key="none")
    stream = client.completions.create(
        model="tiny", prompt=prompt, max_tokens=vllm_generate.NEW, temperature=0, stream=True,
        extra_body={"return_token_ids": True, "ignore_eos": True},
    )  # fmt: skip
    pieces = [piece.choices[0].token_ids for piece in stream if piece.choices]
    print(f"an answer in {len(pieces)} pieces", flush=True)
    return [token for piece in pieces for token in piece or []]


if __name__ == "__main__":
    main()
