"""What autocast does with each operator of torch_npu's lists: a row is its line in AutoCastOps.cpp and a call."""

import os

import torch
import torch_npu
from torch.nn import functional as F

LOW = {"float16": torch.float16, "bfloat16": torch.bfloat16}[os.environ["LOW"]]
aten = torch.ops.aten


def t(*shape, dtype=torch.float32):
    return torch.rand(*shape, dtype=dtype).add(0.1).npu()


def low(*shape):
    return t(*shape, dtype=LOW)


def sign(*shape):
    return torch.ones(*shape, dtype=LOW).npu()


def cell(count):
    return [t(4 * count, 8), t(4 * count, 4), t(4 * count), t(4 * count)]


kinds = torch.tensor([0, 1]).npu()
plane = torch.zeros(1, 2, 2, dtype=torch.int64).npu()
row, index = torch.tensor([0]).npu(), torch.zeros(2, 2, dtype=torch.int64).npu()

TO_LOW = {  # from float32
    "_convolution.deprecated": (30, lambda: aten._convolution.deprecated(
        t(1, 2, 4, 4), t(3, 2, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, False, False, True)),
    "_convolution": (31, lambda: aten._convolution.default(
        t(1, 2, 4, 4), t(3, 2, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, False, False, True, True)),
    "conv1d": (32, lambda: F.conv1d(t(1, 2, 4), t(3, 2, 3))),
    "conv2d": (33, lambda: F.conv2d(t(1, 2, 4, 4), t(3, 2, 3, 3))),
    "conv3d": (34, lambda: F.conv3d(t(1, 2, 4, 4, 4), t(3, 2, 3, 3, 3))),
    "conv_tbc": (35, lambda: torch.conv_tbc(t(4, 1, 2), t(3, 2, 3), t(3))),
    "conv_transpose1d": (36, lambda: F.conv_transpose1d(t(1, 2, 4), t(2, 3, 3))),
    "conv_transpose2d.input": (37, lambda: F.conv_transpose2d(t(1, 2, 4, 4), t(2, 3, 3, 3))),
    "conv_transpose3d.input": (38, lambda: F.conv_transpose3d(t(1, 2, 4, 4, 4), t(2, 3, 3, 3, 3))),
    "convolution": (39, lambda: aten.convolution(
        t(1, 2, 4, 4), t(3, 2, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)),
    "prelu": (42, lambda: F.prelu(t(2, 3), t(3))),
    "addmm": (43, lambda: torch.addmm(t(2, 2), t(2, 3), t(3, 2))),
    "addmv": (44, lambda: torch.addmv(t(2), t(2, 3), t(3))),
    "addr": (45, lambda: torch.addr(t(2, 3), t(2), t(3))),
    "matmul": (46, lambda: t(2, 3) @ t(3, 2)),
    "einsum": (47, lambda: torch.einsum("ab,bc->ac", t(2, 3), t(3, 2))),
    "mm": (48, lambda: torch.mm(t(2, 3), t(3, 2))),
    "mv": (49, lambda: torch.mv(t(2, 3), t(3))),
    "linear": (50, lambda: F.linear(t(2, 3), t(4, 3), t(4))),
    "addbmm": (51, lambda: torch.addbmm(t(2, 2), t(4, 2, 3), t(4, 3, 2))),
    "baddbmm": (52, lambda: torch.baddbmm(t(4, 2, 2), t(4, 2, 3), t(4, 3, 2))),
    "bmm": (53, lambda: torch.bmm(t(4, 2, 3), t(4, 3, 2))),
    "chain_matmul": (54, lambda: aten.chain_matmul([t(2, 3), t(3, 2), t(2, 2)])),
    "linalg_multi_dot": (55, lambda: torch.linalg.multi_dot([t(2, 3), t(3, 2), t(2, 2)])),
    "lstm_cell": (58, lambda: torch.lstm_cell(t(2, 8), [t(2, 4), t(2, 4)], *cell(4))[0]),
    "gru_cell": (59, lambda: torch.gru_cell(t(2, 8), t(2, 4), *(w[:12] for w in cell(4)))),
    "rnn_tanh_cell": (60, lambda: torch.rnn_tanh_cell(t(2, 8), t(2, 4), *(w[:4] for w in cell(1)))),
    "rnn_relu_cell": (61, lambda: torch.rnn_relu_cell(t(2, 8), t(2, 4), *(w[:4] for w in cell(1)))),
    "scaled_dot_product_attention": (63, lambda: F.scaled_dot_product_attention(*(t(1, 2, 4, 8) for _ in range(3)))),
}  # fmt: skip

TO_FLOAT = {  # from the low type: the lists fp32, fp32_set_opt_dtype and fp32_append_dtype
    **{name: (line, lambda name=name: getattr(torch, name)(low(2, 3)))
       for line, name in zip(range(66, 80), ("acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2",
                                            "log1p", "reciprocal", "rsqrt", "sinh", "tan"))},
    "pow.Tensor_Scalar": (80, lambda: low(2, 3) ** 2),
    "pow.Tensor_Tensor": (81, lambda: low(2, 3) ** low(2, 3)),
    "pow.Scalar": (82, lambda: 2 ** low(2, 3)),
    "softplus": (83, lambda: F.softplus(low(2, 3))),
    "layer_norm": (84, lambda: F.layer_norm(low(2, 4), [4])),
    "native_layer_norm": (85, lambda: torch.native_layer_norm(low(2, 4), [4], None, None, 1e-5)[0]),
    "group_norm": (86, lambda: F.group_norm(low(2, 4, 3), 2)),
    "frobenius_norm.dim": (87, lambda: torch.frobenius_norm(low(2, 3), [0, 1])),
    "nuclear_norm": (88, lambda: torch.nuclear_norm(low(2, 3))),
    "nuclear_norm.dim": (89, lambda: torch.nuclear_norm(low(2, 3), [0, 1])),
    "cosine_similarity": (90, lambda: F.cosine_similarity(low(2, 3), low(2, 3))),
    "poisson_nll_loss": (91, lambda: F.poisson_nll_loss(low(2, 3), low(2, 3))),
    "cosine_embedding_loss": (92, lambda: F.cosine_embedding_loss(low(2, 3), low(2, 3), sign(2))),
    "nll_loss": (93, lambda: aten.nll_loss(low(2, 3), kinds)),
    "nll_loss2d": (94, lambda: aten.nll_loss2d(low(1, 3, 2, 2), plane)),
    "hinge_embedding_loss": (95, lambda: F.hinge_embedding_loss(low(2, 3), sign(2, 3))),
    "kl_div": (96, lambda: F.kl_div(low(2, 3), low(2, 3), reduction="sum")),
    "l1_loss": (97, lambda: F.l1_loss(low(2, 3), low(2, 3))),
    "smooth_l1_loss": (98, lambda: F.smooth_l1_loss(low(2, 3), low(2, 3))),
    "huber_loss": (99, lambda: F.huber_loss(low(2, 3), low(2, 3))),
    "mse_loss": (100, lambda: F.mse_loss(low(2, 3), low(2, 3))),
    "margin_ranking_loss": (101, lambda: F.margin_ranking_loss(low(2), low(2), sign(2))),
    "multilabel_margin_loss": (102, lambda: F.multilabel_margin_loss(low(2, 2), index)),
    "soft_margin_loss": (103, lambda: F.soft_margin_loss(low(2, 3), sign(2, 3))),
    "triplet_margin_loss": (104, lambda: F.triplet_margin_loss(low(2, 3), low(2, 3), low(2, 3))),
    "multi_margin_loss": (105, lambda: F.multi_margin_loss(low(2, 3), kinds)),
    "binary_cross_entropy_with_logits": (106, lambda: F.binary_cross_entropy_with_logits(low(2, 3), sign(2, 3))),
    "dist": (107, lambda: torch.dist(low(2, 3), low(2, 3))),
    "pdist": (108, lambda: F.pdist(low(3, 4))),
    "cdist": (109, lambda: torch.cdist(low(2, 3), low(4, 3))),
    "renorm": (110, lambda: torch.renorm(low(2, 3), 2, 0, 1.0)),
    "logsumexp": (111, lambda: low(2, 3).logsumexp(1)),
    "prod": (113, lambda: low(2, 3).prod()),
    "prod.dim_int": (114, lambda: low(2, 3).prod(1)),
    "softmax.int": (115, lambda: low(2, 3).softmax(-1)),
    "log_softmax.int": (116, lambda: low(2, 3).log_softmax(-1)),
    "cumprod": (117, lambda: low(2, 3).cumprod(1)),
    "cumsum": (118, lambda: low(2, 3).cumsum(1)),
    "linalg_vector_norm": (119, lambda: torch.linalg.vector_norm(low(2, 3))),
    "linalg_matrix_norm": (120, lambda: torch.linalg.matrix_norm(low(2, 3), 1)),
    "linalg_matrix_norm.str_ord": (121, lambda: torch.linalg.matrix_norm(low(2, 3), "fro")),
    "sum": (124, lambda: low(2, 3).sum()),
    "sum.dim_IntList": (125, lambda: low(2, 3).sum(1)),
    "norm.Scalar": (132, lambda: aten.norm.Scalar(low(2, 3), 2)),
    "norm.ScalarOpt_dim": (138, lambda: aten.norm.ScalarOpt_dim(low(2, 3), 2, [1], False)),
}  # fmt: skip

PROMOTED = {  # the widest of a low and a float32 tensor
    "addcdiv": (143, lambda: torch.addcdiv(low(2, 3), t(2, 3), low(2, 3))),
    "addcmul": (144, lambda: torch.addcmul(low(2, 3), t(2, 3), low(2, 3))),
    "atan2": (145, lambda: torch.atan2(low(2, 3), t(2, 3))),
    "bilinear": (146, lambda: F.bilinear(low(2, 3), t(2, 3), low(4, 3, 3))),
    "cross": (147, lambda: torch.cross(low(2, 3), t(2, 3), 1)),
    "dot": (148, lambda: torch.dot(low(3), t(3))),
    "grid_sampler": (149, lambda: F.grid_sample(low(1, 2, 4, 4), t(1, 2, 2, 2), align_corners=False)),
    "index_put": (150, lambda: low(2, 3).index_put((row,), t(1, 3))),
    "tensordot": (151, lambda: torch.tensordot(low(2, 3), t(3, 2), 1)),
    "scatter_add": (152, lambda: low(2, 2).scatter_add(0, index, t(2, 2))),
}

KEPT = {  # in no list: the type of its argument
    "relu": lambda: F.relu(low(2, 3)),
    "gelu": lambda: F.gelu(low(2, 3)),
    "mean": lambda: low(2, 3).mean(),
    "batch_norm": lambda: F.batch_norm(low(2, 3), None, None, training=True),
    "max": lambda: low(2, 3).max(),
    "sqrt": lambda: low(2, 3).sqrt(),
    "cat": lambda: torch.cat([low(2, 3), low(2, 3)]),
    "npu_rms_norm": lambda: torch_npu.npu_rms_norm(low(2, 4), low(4))[0],
}

ABSENT = {  # kernels of CUDA, in torch_npu's list and without an implementation
    "cudnn_convolution", "cudnn_convolution_transpose", "_thnn_fused_lstm_cell", "_thnn_fused_gru_cell",
    "_scaled_dot_product_flash_attention",
}  # fmt: skip

rows = {**TO_LOW, **TO_FLOAT, **PROMOTED}
registered = torch._C._dispatch_get_registrations_for_dispatch_key("AutocastPrivateUse1")
listed = {name.removeprefix("aten::") for name in registered if name.startswith("aten::")}
assert listed == {*rows, *ABSENT, "binary_cross_entropy"}, listed ^ {*rows, *ABSENT, "binary_cross_entropy"}
wrong = []
with torch.autocast("npu", dtype=LOW):
    for table, expected in ((TO_LOW, LOW), (TO_FLOAT, torch.float32), (PROMOTED, torch.float32)):
        for name, (line, call) in table.items():
            try:
                found = call().dtype
            except Exception as error:
                found = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            if found != expected:
                wrong.append(f"AutoCastOps.cpp:{line} {name}: {found} instead of {expected}")
    wrong += [f"{name}: {found}" for name, call in KEPT.items() if (found := call().dtype) != LOW]
    assert t(2, 3).double().log().dtype == torch.float32  # a double on the card is a float32 already
    try:
        F.binary_cross_entropy(t(2), t(2))
        wrong.append("binary_cross_entropy is not refused")
    except RuntimeError as error:
        assert "unsafe to autocast" in str(error), error
    with torch.autocast("npu", enabled=False):
        assert (t(2, 2) @ t(2, 2)).dtype == torch.float32
assert not wrong, "\n".join(wrong)
