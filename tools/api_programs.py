"""Small programs for APIs of torch that PyTorch's own databases have no samples for; each runs on the card `npu`.

A name may stand for several rows of the vendor's table: what makes a packed sequence also takes it apart.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.utils import rnn

DEVICE = "npu"
Program = Callable[[], Any]


def _x(*shape: int) -> torch.Tensor:
    return torch.rand(*(shape or (3, 4)), device=DEVICE, requires_grad=True)


def _packed() -> rnn.PackedSequence:
    return rnn.pack_padded_sequence(_x(5, 3, 4), torch.tensor([5, 3, 2]))


def _sequences() -> list[torch.Tensor]:
    return [_x(3, 4), _x(2, 4)]


def _recurrent(kind: type[nn.RNNBase]) -> Any:
    layer = kind(4, 6, 2, bidirectional=True).to(DEVICE)
    layer.flatten_parameters()
    found, _ = layer(_packed())
    rnn.pad_packed_sequence(found)[0].sum().backward()
    return layer(_x(5, 3, 4))[0]


def _exported() -> Any:
    return torch.export.export(nn.Sequential(nn.Linear(4, 2), nn.ReLU()).to(DEVICE), (_x().detach(),))


def _saved() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.pt2")
        torch.export.save(_exported(), path)
        return torch.export.load(path).module()(_x().detach())


def _square(x: torch.Tensor) -> torch.Tensor:
    return (x * x).sum()


def _decoder() -> Any:
    layer = nn.TransformerDecoderLayer(8, 2, 16)
    decoder = nn.TransformerDecoder(layer, 2).to(DEVICE)
    return decoder(_x(3, 2, 8), _x(4, 2, 8))


def _encoder() -> Any:
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2).to(DEVICE)
    encoder.eval()(_x(3, 2, 8))
    return encoder.train()(_x(3, 2, 8))


def _adaptive(method: str) -> Any:
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10]).to(DEVICE)
    if method == "forward":
        return layer(_x(3, 8), torch.tensor([1, 7, 15], device=DEVICE)).loss
    return getattr(layer, method)(_x(3, 8))


def _nested(layout: torch.layout = torch.strided) -> torch.Tensor:
    return torch.nested.nested_tensor([torch.rand(2, 4), torch.rand(3, 4)], device=DEVICE, layout=layout)


def _sparse(make: str) -> Any:
    dense = torch.eye(4, device=DEVICE)
    return getattr(dense, make)(*((2, 2),) if make.endswith(("bsr", "bsc")) else ())


def _compressed(make: Callable[..., Any], *, blocks: bool) -> Any:
    index = torch.tensor([0, 1, 2], device=DEVICE)
    values = torch.ones((2, 2, 2) if blocks else (2,), device=DEVICE)
    return make(index, torch.tensor([0, 1], device=DEVICE), values)


def _exchanged(**options: Any) -> torch.Tensor:
    return torch.from_dlpack(torch.rand(3, device=DEVICE), **options)


def _norm_and_average() -> Any:
    net = nn.Sequential(nn.Conv1d(2, 2, 1), nn.BatchNorm1d(2)).to(DEVICE)
    torch.func.replace_all_batch_norm_modules_(net)
    return torch.func.vmap(net, randomness="different")(_x(2, 3, 2, 4))


def _quantized() -> torch.Tensor:
    return torch.quantize_per_tensor(torch.rand(3, device=DEVICE), 0.1, 0, torch.qint8)


def _fake_quantize(kind: str) -> Any:
    from torch.ao.quantization import fake_quantize

    return getattr(fake_quantize, kind)().to(DEVICE)(_x().detach())


def _trained(name: str) -> Any:
    from torch.ao import quantization
    from torch.ao.nn import intrinsic

    config = quantization.get_default_qat_qconfig("fbgemm")
    make = getattr(intrinsic.qat, name)
    if name == "LinearReLU":
        return make(4, 2, qconfig=config).to(DEVICE)(_x())
    shape = (2, 2, 8, 8) if name.endswith("2d") else (2, 2, 8)
    return make(2, 2, 3, qconfig=config).to(DEVICE)(_x(*shape))


def _distribution(name: str, *values: Any, method: str = "rsample") -> Program:
    def run() -> Any:
        given = [torch.tensor(value, device=DEVICE) if isinstance(value, float | list) else value for value in values]
        made = getattr(torch.distributions, name)(*given)
        sample = made.sample()
        if method in ("log_prob", "cdf"):
            return getattr(made, method)(sample)
        if method == "icdf":
            return made.icdf(torch.tensor(0.3, device=DEVICE))
        return (
            made.rsample()
            if method == "rsample" and made.has_rsample
            else made.entropy()
            if method == "entropy"
            else sample
        )

    return run


def _disabled() -> Any:
    return torch.compiler.disable(_square)(_x())


def _invariants() -> Any:
    with torch.sparse.check_sparse_tensor_invariants():
        return torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], device=DEVICE)


def _shared() -> Any:
    return torch.rand(3, device=DEVICE).share_memory_()


_RNN = nn.utils.rnn
PROGRAMS: dict[str, Program] = {
    "Tensor.chalf": lambda: torch.rand(3, device=DEVICE).chalf(),
    "Tensor.is_shared": lambda: torch.rand(3, device=DEVICE).is_shared(),
    "Tensor.share_memory_": _shared,
    "Tensor.smm": lambda: _sparse("to_sparse").smm(torch.ones(4, 2, device=DEVICE)),
    "Tensor.sspaddmm": lambda: _sparse("to_sparse").sspaddmm(_sparse("to_sparse"), torch.ones(4, 4, device=DEVICE)),
    "Tensor.sparse_mask": lambda: torch.ones(4, 4, device=DEVICE).sparse_mask(_sparse("to_sparse").coalesce()),
    "Tensor.to_dense": lambda: _sparse("to_sparse").to_dense(),
    **{f"Tensor.{name}": (lambda name=name: _sparse(name)) for name in (
        "to_sparse", "to_sparse_bsc", "to_sparse_bsr", "to_sparse_csc", "to_sparse_csr")},
    "Tensor.to_mkldnn": lambda: torch.rand(3, device=DEVICE).to_mkldnn(),
    "Tensor.qscheme": lambda: _quantized().qscheme(),
    "Tensor.int_repr": lambda: _quantized().int_repr(),
    "torch.quantize_per_tensor": _quantized,
    "torch.quantize_per_channel": lambda: torch.quantize_per_channel(
        torch.rand(2, 3, device=DEVICE), torch.tensor([0.1, 0.2], device=DEVICE), torch.zeros(2, device=DEVICE), 0,
        torch.qint8),
    "torch.ao.quantization.fake_quantize.FakeQuantize": lambda: _fake_quantize("FakeQuantize"),
    "torch.ao.quantization.fake_quantize.FusedMovingAvgObsFakeQuantize": lambda: _fake_quantize(
        "FusedMovingAvgObsFakeQuantize"),
    **{f"torch.ao.nn.intrinsic.qat.{name}": (lambda name=name: _trained(name)) for name in (
        "ConvBn1d", "ConvBnReLU1d", "ConvBnReLU2d", "LinearReLU")},
    "torch.ao.nn.intrinsic.LinearReLU": lambda: torch.ao.nn.intrinsic.LinearReLU(
        nn.Linear(4, 2), nn.ReLU()).to(DEVICE)(_x()),
    "torch.ao.nn.quantizable.LSTM": lambda: torch.ao.nn.quantizable.LSTM(4, 6).to(DEVICE)(_x(5, 3, 4))[0],
    "torch.ao.ns.fx.utils.compute_sqnr": lambda: __import__(
        "torch.ao.ns.fx.utils", fromlist=["_"]).compute_sqnr(_x(), _x()),
    "torch.accelerator.get_device_capability": lambda: torch.accelerator.get_device_capability(),
    "torch.backends.opt_einsum.enabled": lambda: torch.backends.opt_einsum.enabled,
    "torch.backends.opt_einsum.strategy": lambda: torch.backends.opt_einsum.strategy,
    "torch.compiler.allow_in_graph": lambda: torch.compiler.allow_in_graph(_square)(_x()),
    "torch.compiler.disable": _disabled,
    "torch.compiler.list_backends": lambda: torch.compiler.list_backends(),
    "torch.compiler.reset": lambda: torch.compiler.reset(),
    **dict.fromkeys(("torch.export.ExportedProgram", "torch.export.export"), _exported),
    "torch.export.ExportedProgram.module": lambda: _exported().module()(_x().detach()),
    **dict.fromkeys(("torch.export.load", "torch.export.save"), _saved),
    **dict.fromkeys(("torch.from_dlpack", "torch.utils.dlpack.from_dlpack"), _exchanged),
    "torch.utils.dlpack.to_dlpack": lambda: torch.utils.dlpack.to_dlpack(torch.rand(3, device=DEVICE)),
    "torch.fft.fftfreq": lambda: torch.fft.fftfreq(8, device=DEVICE),
    "torch.fft.rfftfreq": lambda: torch.fft.rfftfreq(8, device=DEVICE),
    "torch.func.functionalize": lambda: torch.func.functionalize(_square)(_x()),
    "torch.func.hessian": lambda: torch.func.hessian(_square)(_x()),
    "torch.func.jacfwd": lambda: torch.func.jacfwd(torch.sin)(_x()),
    "torch.func.jacrev": lambda: torch.func.jacrev(torch.sin)(_x()),
    "torch.func.jvp": lambda: torch.func.jvp(torch.sin, (_x(),), (_x(),)),
    "torch.func.vjp": lambda: torch.func.vjp(torch.sin, _x())[1](_x()),
    "torch.func.vmap": lambda: torch.func.vmap(torch.dot)(_x(), _x()),
    "torch.func.grad": lambda: torch.func.grad(_square)(_x()),
    "torch.func.replace_all_batch_norm_modules_": _norm_and_average,
    "torch.is_deterministic_algorithms_warn_only_enabled": lambda: (
        torch.is_deterministic_algorithms_warn_only_enabled()),
    "torch.nested.masked_select": lambda: torch.nested.masked_select(
        torch.rand(3, 4, device=DEVICE), torch.tensor([[True, False, True, True]] * 3, device=DEVICE)),
    "torch.nested.narrow": lambda: torch.nested.narrow(
        torch.rand(2, 5, 4, device=DEVICE), 1, torch.tensor([0, 1], device=DEVICE), torch.tensor([2, 3], device=DEVICE),
        layout=torch.jagged),
    "torch.nested.nested_tensor_from_jagged": lambda: torch.nested.nested_tensor_from_jagged(
        torch.rand(5, 4, device=DEVICE), torch.tensor([0, 2, 5], device=DEVICE)),
    "torch.nested.to_padded_tensor": lambda: torch.nested.to_padded_tensor(_nested(torch.jagged), 0.0),
    "torch.nested.nested_tensor": _nested,
    "torch.nested.as_nested_tensor": lambda: torch.nested.as_nested_tensor(_sequences()),
    "torch.nn.AdaptiveLogSoftmaxWithLoss": lambda: _adaptive("forward"),
    "torch.nn.AdaptiveLogSoftmaxWithLoss.log_prob": lambda: _adaptive("log_prob"),
    "torch.nn.AdaptiveLogSoftmaxWithLoss.predict": lambda: _adaptive("predict"),
    **dict.fromkeys(("torch.nn.RNNBase", "torch.nn.RNNBase.flatten_parameters", "torch.nn.RNN"), (
        lambda: _recurrent(nn.RNN))),
    "torch.nn.GRU": lambda: _recurrent(nn.GRU),
    "torch.nn.LSTM": lambda: _recurrent(nn.LSTM),
    "torch.nn.RNNCell": lambda: nn.RNNCell(4, 6).to(DEVICE)(_x()),
    "torch.nn.LSTMCell": lambda: nn.LSTMCell(4, 6).to(DEVICE)(_x())[0],
    **dict.fromkeys(("torch.nn.TransformerDecoder", "torch.nn.TransformerDecoder.forward",
                     "torch.nn.TransformerDecoderLayer.forward"), _decoder),
    **dict.fromkeys(("torch.nn.TransformerEncoder", "torch.nn.TransformerEncoder.forward",
                     "torch.nn.TransformerEncoderLayer.forward"), _encoder),
    "torch.nn.functional.gumbel_softmax": lambda: nn.functional.gumbel_softmax(_x(), hard=True),
    "torch.nn.functional.multilabel_soft_margin_loss": lambda: nn.functional.multilabel_soft_margin_loss(
        _x(), torch.ones(3, 4, device=DEVICE)),
    "torch.nn.Tanhshrink": lambda: nn.Tanhshrink()(_x()),
    "torch.nn.ZeroPad2d": lambda: nn.ZeroPad2d(1)(_x(1, 2, 3, 3)),
    "torch.nn.UpsamplingNearest2d": lambda: nn.UpsamplingNearest2d(scale_factor=2)(_x(1, 2, 3, 3)),
    "torch.nn.CosineEmbeddingLoss": lambda: nn.CosineEmbeddingLoss()(_x(), _x(), torch.ones(3, device=DEVICE)),
    "torch.nn.utils.clip_grad_norm": lambda: torch.nn.utils.clip_grad_norm_([_leaf()], 1.0),
    "torch.nn.utils.rnn.pack_padded_sequence": _packed,
    "torch.nn.utils.rnn.pack_sequence": lambda: _RNN.pack_sequence(_sequences()),
    "torch.nn.utils.rnn.pad_packed_sequence": lambda: _RNN.pad_packed_sequence(_packed())[0],
    "torch.nn.utils.rnn.unpack_sequence": lambda: _RNN.unpack_sequence(_packed()),
    "torch.nn.utils.rnn.unpad_sequence": lambda: _RNN.unpad_sequence(_x(5, 3, 4) * 1, torch.tensor([5, 3, 2])),
    "torch.nn.utils.rnn.pad_sequence": lambda: _RNN.pad_sequence(_sequences()),
    "torch.nn.TripletMarginLoss": lambda: nn.TripletMarginLoss()(_x(), _x(), _x()),
    "torch.nn.Hardsigmoid": lambda: nn.Hardsigmoid()(_x()),
    "torch.nn.RReLU": lambda: nn.RReLU()(_x()),
    "torch.scatter_reduce": lambda: torch.scatter_reduce(
        _x(), 0, torch.zeros(3, 4, dtype=torch.int64, device=DEVICE), _x(), "sum"),
    "torch.index_reduce": lambda: torch.index_reduce(
        _x().detach(), 0, torch.tensor([0, 1, 2], device=DEVICE), _x().detach(), "mean"),
    "Tensor.index_reduce": lambda: _x().detach().index_reduce(
        0, torch.tensor([0, 1, 2], device=DEVICE), _x().detach(), "mean"),
    "torch.tensor_split": lambda: torch.tensor_split(_x(), 2),
    "Tensor.tensor_split": lambda: _x().tensor_split([1, 2]),
    "Tensor.to": lambda: torch.rand(3).to(DEVICE).to(torch.float16).to("cpu"),
    "torch.ao.nn.qat.Linear": lambda: torch.ao.nn.qat.Linear(
        4, 2, qconfig=torch.ao.quantization.get_default_qat_qconfig("fbgemm")).to(DEVICE)(_x()),
    "torch.poisson": lambda: torch.poisson(_x().detach()),
    "torch.sparse.check_sparse_tensor_invariants": _invariants,
    "torch.sparse_bsc_tensor": lambda: _compressed(torch.sparse_bsc_tensor, blocks=True),
    "torch.sparse_bsr_tensor": lambda: _compressed(torch.sparse_bsr_tensor, blocks=True),
    "torch.sparse_csc_tensor": lambda: _compressed(torch.sparse_csc_tensor, blocks=False),
    "torch.sparse_csr_tensor": lambda: _compressed(torch.sparse_csr_tensor, blocks=False),
    **{name: _distribution(kind, *values, method=method) for name, kind, values, method in (
        ("torch.distributions.binomial.Binomial", "Binomial", (10, 0.5), "rsample"),
        ("torch.distributions.binomial.Binomial.log_prob", "Binomial", (10, 0.5), "log_prob"),
        ("torch.distributions.cauchy.Cauchy.log_prob", "Cauchy", (0.0, 1.0), "log_prob"),
        ("torch.distributions.cauchy.Cauchy.rsample", "Cauchy", (0.0, 1.0), "rsample"),
        ("torch.distributions.chi2.Chi2", "Chi2", (3.0,), "rsample"),
        ("torch.distributions.dirichlet.Dirichlet", "Dirichlet", ([1.0, 2.0],), "rsample"),
        ("torch.distributions.dirichlet.Dirichlet.log_prob", "Dirichlet", ([1.0, 2.0],), "log_prob"),
        ("torch.distributions.dirichlet.Dirichlet.rsample", "Dirichlet", ([1.0, 2.0],), "rsample"),
        ("torch.distributions.fishersnedecor.FisherSnedecor", "FisherSnedecor", (2.0, 3.0), "rsample"),
        ("torch.distributions.gamma.Gamma", "Gamma", (1.0, 2.0), "rsample"),
        ("torch.distributions.gamma.Gamma.cdf", "Gamma", (1.0, 2.0), "cdf"),
        ("torch.distributions.gamma.Gamma.log_prob", "Gamma", (1.0, 2.0), "log_prob"),
        ("torch.distributions.half_cauchy.HalfCauchy", "HalfCauchy", (1.0,), "rsample"),
        ("torch.distributions.half_normal.HalfNormal", "HalfNormal", (1.0,), "rsample"),
        ("torch.distributions.kumaraswamy.Kumaraswamy.entropy", "Kumaraswamy", (1.0, 2.0), "entropy"),
        ("torch.distributions.laplace.Laplace.icdf", "Laplace", (0.0, 1.0), "icdf"),
        ("torch.distributions.lkj_cholesky.LKJCholesky", "LKJCholesky", (3, 0.5), "rsample"),
        ("torch.distributions.log_normal.LogNormal.entropy", "LogNormal", (0.0, 1.0), "entropy"),
        ("torch.distributions.multivariate_normal.MultivariateNormal.log_prob", "MultivariateNormal",
         ([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]), "log_prob"),
        ("torch.distributions.multivariate_normal.MultivariateNormal.rsample", "MultivariateNormal",
         ([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]), "rsample"),
        ("torch.distributions.negative_binomial.NegativeBinomial", "NegativeBinomial", (5.0, 0.5), "rsample"),
        ("torch.distributions.negative_binomial.NegativeBinomial.sample", "NegativeBinomial", (5.0, 0.5), "sample"),
        ("torch.distributions.poisson.Poisson", "Poisson", (2.0,), "sample"),
        ("torch.distributions.relaxed_categorical.RelaxedOneHotCategorical", "RelaxedOneHotCategorical",
         (0.5, [0.2, 0.8]), "rsample"),
        ("torch.distributions.studentT.StudentT", "StudentT", (3.0,), "rsample"),
    )},
    **{f"torch.optim.{name}": (lambda name=name: _steps(name)) for name in (
        "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop",
        "SGD")},
}  # fmt: skip


def _leaf() -> torch.Tensor:
    leaf = _x()
    leaf.grad = torch.ones_like(leaf)
    return leaf


def _steps(name: str) -> Any:
    layer = nn.Linear(4, 2).to(DEVICE)
    optimizer = getattr(torch.optim, name)(layer.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        layer(_x()).sum().backward()
        optimizer.step()
    return layer.weight
