"""sentence-transformers on an NPU, with a model of random weights: `jumar run sentence_embeddings.py`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from sentence_transformers.util import batch_to_device

import tiny

TEXTS = ("a card", "a small card", "one node", "many nodes")


def write_model(folder: Path) -> None:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted({word for text in TEXTS for word in text.split()})]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)


def main() -> None:
    transformers.set_seed(0)
    with tempfile.TemporaryDirectory() as name:
        write_model(Path(name))
        body = Transformer(name)
        model = SentenceTransformer(modules=[body, Pooling(32)], device=tiny.device())
        lossy, optimizer = CosineSimilarityLoss(model), torch.optim.AdamW(model.parameters(), lr=1e-3)
        for step in range(4):
            pairs = (model.preprocess(list(texts)) for texts in (TEXTS[:2], TEXTS[2:]))
            left, right = (batch_to_device(pair, model.device) for pair in pairs)
            loss = lossy([left, right], torch.tensor([0.9, 0.1]).to(model.device))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            tiny.tell(step, loss.detach())
        model.eval()
        tiny.tell(4, model.encode(list(TEXTS), convert_to_tensor=True).std())


if __name__ == "__main__":
    main()
