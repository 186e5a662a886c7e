"""Names, config.json files and modules become the networks that they are."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from jumar.core.errors import UserError
from jumar.parallel import mindir, models, modules

LLAMA2 = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 32000, "hidden_act": "silu",
    "rms_norm_eps": 1e-5, "max_position_embeddings": 4096, "torch_dtype": "float16", "tie_word_embeddings": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("gpt3-175b", 175.0), ("gpt3-13b", 13.0), ("gpt3-125m", 0.125), ("llama-7b", 6.738), ("llama-70b", 68.98),
        ("llama3-8b", 8.03), ("mixtral-8x7b", 46.7), ("pangu-alpha-2.6b", 2.6), ("resnet-50", 0.02556),
        ("mlp-8x1024", 0.0671),
    ],
)  # fmt: skip
def test_presets_have_the_published_size(name: str, billions: float) -> None:
    assert models.preset(name).parameters / 1e9 == pytest.approx(billions, rel=0.03)


def test_every_preset_names_its_source() -> None:
    assert all(row["source"] for row in models.presets().values())


def test_config_and_preset_agree(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA2))
    net = models.find(str(tmp_path), sys.executable, None)
    assert net.parameters == models.preset("llama-7b").parameters == 6738415616
    assert (net.seq, net.computed, net.activation) == (4096, "float16", "swiglu")


def test_odd_vocabulary_is_filled_up_and_told(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**LLAMA2, "vocab_size": 32001}))
    net = models.from_config(path)
    assert net.vocab == 32128 and "filled up to 32128" in net.notes[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a configuration"),
        ("{}", "has no `num_hidden_layers`"),
        (json.dumps({**LLAMA2, "num_hidden_layers": 0}), "must be at least 1"),
        (json.dumps({**LLAMA2, "num_attention_heads": 30}), "30 heads do not divide"),
    ],
)
def test_wrong_configs_are_told(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        models.find(str(path), sys.executable, None)


def test_unknown_names_get_the_nearest() -> None:
    with pytest.raises(UserError) as caught:
        models.find("lama-7b", sys.executable, None)
    assert caught.value.hint == "did you mean `llama-7b`?"


IR = """\
%para1_x: <Tensor[Float32], (2, 64)> : [2, 64]
%para2_bs.0.d.weight: <Ref[Tensor[Float32]], (256, 64), ref_key=bs.0.d.weight, is_parameter>  :  has_default
%para3_bs.1.d.weight: <Ref[Tensor[Float32]], (256, 256), ref_key=bs.1.d.weight, is_parameter>  :  has_default

subgraph @net() {
  %0(w) = Load(%para2_bs.0.d.weight, UMonad[U])
      : (<Ref[Tensor[Float32]], (256, 64)>, <UMonad, NoShape>) -> (<Tensor[Float32], (256, 64)>)
  %1(y) = PrimFunc_MatMul(%para1_x, %0, Bool(0), Bool(1)) {instance name: mm}
      : (<Tensor[Float32], (2, 64)>, <Tensor[Float32], (256, 64)>, <Bool, NoShape>) -> (<Tensor[Float32], (2, 256)>)
      # Fullname with scope: (Default/bs-CellList/0-B/d-Dense/MatMul-op0)
  %2(g) = PrimFunc_GeLU(%1)
      : (<Tensor[Float32], (2, 256)>) -> (<Tensor[Float32], (2, 256)>)
      # Fullname with scope: (Default/bs-CellList/0-B/GeLU-op0)
  %3(w) = Load(%para3_bs.1.d.weight, UMonad[U])
      : (<Ref[Tensor[Float32]], (256, 256)>, <UMonad, NoShape>) -> (<Tensor[Float32], (256, 256)>)
  %4(y) = PrimFunc_MatMul(%2, %3, Bool(0), Bool(1)) {instance name: mm}
      : (<Tensor[Float32], (2, 256)>, <Tensor[Float32], (256, 256)>, <Bool, NoShape>) -> (<Tensor[Float32], (2, 256)>)
      # Fullname with scope: (Default/bs-CellList/1-B/d-Dense/MatMul-op0)
  %5(g) = PrimFunc_GeLU(%4)
      : (<Tensor[Float32], (2, 256)>) -> (<Tensor[Float32], (2, 256)>)
  %6(m) = PrimFunc_ReduceMean(%5, (), Bool(0))
      : (<Tensor[Float32], (2, 256)>, <Tuple[], TupleShape()>, <Bool, NoShape>) -> (<Tensor[Float32], ()>)
      # Fullname with scope: (Default/ReduceMean-op0)
  Return(%6)
}
"""


def test_graph_of_mindspore_is_read() -> None:
    trace = mindir.read(IR)
    assert [(row["kind"], row["block"], row["weights"]) for row in trace["ops"]] == [
        ("MatMul", 0, ["bs.0.d.weight"]), ("GeLU", 0, []), ("MatMul", 1, ["bs.1.d.weight"]), ("GeLU", 1, []),
        ("ReduceMean", -1, []),
    ]  # fmt: skip
    assert trace["ops"][0]["flops"] == 2 * 2 * 256 * 64
    net = modules.build({**trace, "batch": 2, "fed": 512}, "net", "net.py:make", "mindspore")
    assert net.parameters == 256 * 64 + 256 * 256
    assert net.input_bytes == 256


MODEL = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x):
        return x + self.b(nn.functional.gelu(self.a(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block() for _ in range(4)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x.square().mean()


def make_model():
    return Net()


def broken():
    raise ValueError("no weights here")
"""


def test_module_of_pytorch_is_traced_without_memory(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    net = modules.read(f"{path}:make_model", sys.executable, None)
    assert net.parameters == 4 * (64 * 256 + 256 + 256 * 64 + 64)
    assert [(part.name, part.count) for part in net.parts] == [("block", 4), ("end", 1)]
    assert net.flops == pytest.approx(4 * 2 * 2 * 64 * 256, rel=0.01)


def test_models_that_cannot_be_built_are_told(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    with pytest.raises(UserError, match="cannot be built: ValueError: no weights here"):
        modules.read(f"{path}:broken", sys.executable, None)
    path.write_text("import not_there_at_all\n")
    with pytest.raises(UserError, match="needs `not_there_at_all`"):
        modules.read(f"{path}:make_model", sys.executable, None)
    with pytest.raises(UserError, match="no such file"):
        modules.read(f"{tmp_path}/other.py:make_model", sys.executable, None)
    with pytest.raises(UserError, match="cannot start"):
        modules.read(f"{path}:make_model", str(tmp_path / "python"), None)
