"""Data types, layouts and refusals of operators on the card, each with the place in torch_npu that says so."""

import torch
import torch_npu
from torch import bfloat16, float16, float32, float64, int8, int32, int64, uint8
from torch.nn import functional

x = torch.randn(4, 6, device="npu")
half, brain = x.half(), x.bfloat16()
whole, double = torch.arange(6, device="npu"), torch.randn(4, 6, dtype=float64).npu()
image, volume = torch.randn(1, 2, 4, 4, device="npu"), torch.randn(1, 2, 4, 4, 4, device="npu")
on_host = torch.randn(1, 2, 4, 4, 4, dtype=float64)
lists = {kind: [t, t] for kind, t in (("double", double), ("whole", whole), ("float", x))}
triangle = torch.randn(4, 4).triu().fill_diagonal_(2).npu()
aten, npu = torch.ops.aten, torch.ops.npu

TYPES = [  # place in the source of torch_npu; the call; types of its results
    ("ToKernelNpu.cpp:39", lambda: x.double(), float32),
    ("ToKernelNpu.cpp:39", lambda: half.to(float64), float32),
    ("ToKernelNpu.cpp:39", lambda: whole.double(), float32),
    ("ToKernelNpu.cpp:39", lambda: torch.nn.Linear(2, 2).npu().double().weight, float32),
    ("SumKernelNpuOpApi.cpp:59", lambda: x.sum(dtype=float64), float64),  # cast inside the kernel
    ("ProdKernelNpuOpApi.cpp:65", lambda: half.prod(dtype=float32), float32),
    ("ProdKernelNpuOpApi.cpp:45", lambda: half.prod(1, dtype=float32), float32),
    ("ToKernelNpu.cpp:38", lambda: double.to(float64, copy=True), float64),
    ("ToKernelNpu.cpp:35", lambda: x.to("npu:0", float64), float64),
    ("ToKernelNpu.cpp:35", lambda: x.to("cpu", float64), float64),
    ("ToKernelNpu.cpp:35", lambda: torch.zeros(2).to("npu", float64), float64),
    ("ToKernelNpu.cpp:35", lambda: torch.zeros(2, dtype=float64).npu(), float64),
    ("CloneKernelOpApi.cpp:31", lambda: double.clone(), float64),
    ("AddKernelNpuOpApi.cpp:126", lambda: double + x, float64),
    ("DivKernelNpuOpApi.cpp:62", lambda: whole / 2, float32),
    ("LayerNormKernelNpuOpApi.cpp:76", lambda: aten.native_layer_norm(half, [6], None, None, 1e-5), (float16, float32)),
    ("LayerNormKernelNpuOpApi.cpp:76", lambda: aten.native_layer_norm(brain, [6], None, None, 1e-5),
     (bfloat16, float32)),
    ("LayerNormBackwardKernelNpuOpApi.cpp:71",
     lambda: aten.native_layer_norm_backward(brain, brain, [6], x[:, :1], x[:, :1], brain[0], brain[0], [True] * 3),
     (bfloat16, float32)),
    ("LayerNormKernelNpuOpApi.cpp:76", lambda: aten.native_layer_norm(double, [6], None, None, 1e-5),
     (float64, float64)),
    ("SoftmaxKernelNpuOpApi.cpp:30", lambda: half.softmax(-1, dtype=float32), float32),
    ("MaxPool3dWithIndicesKernelNpuOpApi.cpp:105", lambda: aten.max_pool3d_with_indices(volume, 2), (float32, int32)),
    ("AdaptiveMaxPool3dKernelNpuOpApi.cpp:83", lambda: aten.adaptive_max_pool3d(volume, [2, 2, 2]), (float32, int32)),
    ("AdaptiveMaxPool3dKernelNpuOpApi.cpp:67", lambda: aten.adaptive_max_pool3d(on_host.npu(), [2, 2, 2]),
     (float64, int64)),
    ("MaxPool2dWithIndicesKernelNpuOpApi.cpp:136", lambda: aten.max_pool2d_with_indices(image, [2]), (float32, int8)),
    ("SortKernelNpuOpApi.cpp:35", lambda: double.sort(), (float64, int64)),
    ("op_plugin_functions.yaml: trace", lambda: torch.ones(2, 2, dtype=int32, device="npu").trace(), int64),
    ("op_plugin_functions.yaml: searchsorted", lambda: torch.searchsorted(whole, whole, out_int32=True), int32),
    ("op_plugin_functions.yaml: sigmoid", lambda: whole.sigmoid(), float32),
    ("RmsNormKernelOpApi.cpp:28", lambda: torch_npu.npu_rms_norm(half, half[0]), (float16, float32)),
    ("op_plugin_functions.yaml: npu_add_rms_norm", lambda: torch_npu.npu_add_rms_norm(half, half, half[0]),
     (float16, float32, float16)),
    ("DeepNormKernelOpApi.cpp:41", lambda: torch_npu.npu_deep_norm(half, half, half[0], half[0]),
     (float32, float32, float16)),
    ("NativeDropoutKernelNpuOpApi.cpp:43", lambda: npu._npu_dropout(half, 0.5), (float16, uint8)),
    ("CastKernelNpuOpApi.cpp:84", lambda: torch_npu.npu_dtype_cast(x, float16), float16),
    ("BatchNormReduceKernelNpuOpApi.cpp:32", lambda: torch.batch_norm_stats(image.half(), 1e-5), (float32, float32)),
]  # fmt: skip

CONTIGUOUS = [  # place; the call on a transposed tensor; whether the result is laid out anew
    ("OpPreparation.cpp:469", lambda: x.t() + 1, True),
    ("OpPreparation.cpp:469", lambda: x.t().exp(), True),
    ("OpPreparation.cpp:469", lambda: x.t().sort()[1], True),
    ("CloneKernelOpApi.cpp:31", lambda: x.t().clone(), False),
    ("CloneKernelOpApi.cpp:36", lambda: x.t().clone(memory_format=torch.contiguous_format), True),
    ("CloneKernelOpApi.cpp:36", lambda: image.clone(memory_format=torch.channels_last), True),
    ("ToKernelNpu.cpp:94", lambda: x.t().half(), False),
    ("ToKernelNpu.cpp:94", lambda: x.t().double(), False),
    ("LinalgSvdKernelNpuOpApi.cpp:45", lambda: torch.linalg.svd(x)[0], True),
    ("LinalgSvdKernelNpuOpApi.cpp:52", lambda: torch.linalg.svd(x)[2], False),
    ("LinalgSvdKernelNpuOpApi.cpp:52", lambda: torch.linalg.svd(x)[2].mT, True),
    ("LinalgSolveTriangularKernelNpuOpApi.cpp:98",
     lambda: torch.linalg.solve_triangular(triangle, x, upper=True), True),
    ("LinalgSolveTriangularKernelNpuOpApi.cpp:101",
     lambda: torch.linalg.solve_triangular(triangle, x.t(), upper=True, left=False), False),
    ("LinalgSolveTriangularKernelNpuOpApi.cpp:101",
     lambda: torch.linalg.solve_triangular(triangle, x.t(), upper=True, left=False).mT, True),
]  # fmt: skip

REFUSED = [  # place; the call; torch_npu's words
    ("ToKernelNpu.cpp:72", lambda: image.to(memory_format=torch.channels_last),
     "Only contiguous_format or preserve_format is supported."),
    ("TensorProperties.cpp:15", lambda: image.contiguous(memory_format=torch.channels_last),
     "NPU contiguous operator only supported contiguous memory format."),
    ("SortKernelNpuOpApi.cpp:91", lambda: double.sort(stable=True), "Input data type should not be float64 "),
    ("SortKernelNpuOpApi.cpp:107", lambda: torch.sort(double, stable=True, out=(double.clone(), torch.sort(x)[1])),
     "Input data type should not be float64 "),
    ("UpsampleBilinear2dKernelNpuOpApi.cpp:56",
     lambda: functional.interpolate(double.view(1, 1, 4, 6), scale_factor=2, mode="bilinear"),
     "upsample_binlinear_2d not support torch.fp64 dtypes"),
    ("UpsampleBilinear2dKernelNpuOpApi.cpp:34",
     lambda: aten.upsample_bilinear2d.out(double.view(1, 1, 4, 6), [8, 12], False, out=double.new_empty(1, 1, 8, 12)),
     "upsample_binlinear_2d not support torch.fp64 dtypes"),
    ("LinalgSvdKernelNpuOpApi.cpp:27", lambda: torch.linalg.svd(double), "svd_npu only supported Float, but getdouble"),
]  # fmt: skip

LISTS = [  # place; operator; types of lists that it refuses; torch_npu's words
    ("ForeachAddcmulTensorKernelNpuOpApi.cpp:81", "addcmul.Tensor", "input must be half, float, int32 or bfloat16"),
    ("ForeachAddcmulTensorKernelNpuOpApi.cpp:119", "addcmul_.Tensor", "input must be half, float, int32, or bfloat16"),
    ("ForeachDivKernelNpuOpApi.cpp:295", "div.Scalar", "input must be half, float or bfloat16"),
    ("ForeachDivKernelNpuOpApi.cpp:272", "div_.Scalar", "input must be half, float or bfloat16"),
    ("ForeachDivKernelNpuOpApi.cpp:187", "div.ScalarList", "input must be half, float or bfloat16"),
    ("ForeachDivKernelNpuOpApi.cpp:222", "div_.ScalarList", "input must be half, float or bfloat16"),
    ("ForeachExpKernelNpuOpApi.cpp:86", "exp.default", "input must be half, float or bfloat16"),
    ("ForeachExpKernelNpuOpApi.cpp:64", "exp_.default", "input must be half, float, or bfloat16"),
    ("ForeachExpm1KernelNpuOpApi.cpp:88", "expm1.default", "input must be half, float or bfloat16"),
    ("ForeachExpm1KernelNpuOpApi.cpp:66", "expm1_.default", "input must be half, float or bfloat16"),
    ("ForeachLogKernelNpuOpApi.cpp:88", "log.default", "input must be half, float or bfloat16"),
    ("ForeachLogKernelNpuOpApi.cpp:65", "log_.default", "input must be half, float or bfloat16"),
    ("ForeachLog10KernelNpuOpApi.cpp:88", "log10.default", "input must be half, float or bfloat16"),
    ("ForeachLog10KernelNpuOpApi.cpp:66", "log10_.default", "input must be half, float or bfloat16"),
    ("ForeachLog1pKernelNpuOpApi.cpp:90", "log1p.default", "input must be half, float or bfloat16"),
    ("ForeachLog1pKernelNpuOpApi.cpp:67", "log1p_.default", "input must be half, float or bfloat16"),
    ("ForeachLog2KernelNpuOpApi.cpp:88", "log2.default", "input must be half, float or bfloat16"),
    ("ForeachLog2KernelNpuOpApi.cpp:65", "log2_.default", "input must be half, float or bfloat16"),
    ("ForeachNegKernelNpuOpApi.cpp:97", "neg.default", "input must be half or float or int32 or bfloat16"),
    ("ForeachNegKernelNpuOpApi.cpp:73", "neg_.default", "input must be half or float or int32 or bfloat16"),
    ("ForeachPowScalarKernelNpuOpApi.cpp:64", "pow.Scalar", "input must be half, float, int32 or bfloat16"),
    ("ForeachPowScalarKernelNpuOpApi.cpp:64", "pow_.Scalar", "input must be half, float, int32 or bfloat16"),
    ("ForeachReciprocalKernelNpuOpApi.cpp:92", "reciprocal.default", "input must be half, float or bfloat16"),
    ("ForeachReciprocalKernelNpuOpApi.cpp:68", "reciprocal_.default", "input must be half, float or bfloat16"),
    ("ForeachSubScalarInplaceKernelOpApi.cpp:101", "sub.Scalar", "input must be half, float, int32 or bfloat16"),
    ("ForeachSubScalarInplaceKernelOpApi.cpp:135", "sub_.Scalar", "input must be half, float, int32 or bfloat16"),
    ("ForeachZeroInplaceKernelNpuOpApi.cpp:75", "zero_.default", "input must be half, float, int or short or bfloat16"),
]
MORE = {"Scalar": [2], "ScalarList": [[2.0, 2.0]], "default": [], "Tensor": [torch.ones(2)]}


def words(call) -> str:
    try:
        call()
    except RuntimeError as error:
        return str(error).splitlines()[0]
    return "no error"


def on_list(name: str, kind: str):
    base, overload = name.split(".")
    operator = getattr(getattr(aten, f"_foreach_{base}"), overload)
    given = [[t.clone() for t in lists[kind]] for _ in range(3 if base.startswith("addc") else 1)]
    return operator(*given, *MORE[overload])


for place, call, wanted in TYPES:
    got = call()
    got = tuple(t.dtype for t in got)[: len(wanted)] if isinstance(wanted, tuple) else got.dtype
    assert got == wanted, (place, got, wanted)
for place, call, wanted in CONTIGUOUS:
    assert call().is_contiguous() is wanted, place
for place, call, wanted in REFUSED:
    assert words(call) == wanted, (place, words(call))
for place, name, wanted in LISTS:
    assert words(lambda name=name: on_list(name, "double")) == wanted, place
    on_list(name, "float")
assert words(lambda: on_list("sub.Scalar", "whole")) == "input must be half, float, int32 or bfloat16"
on_list("div.Scalar", "whole")  # integers that become floating point go to torch's loop

# Lists that differ among themselves go to torch's loop, which takes float64.
assert torch._foreach_exp([double, x])[0].dtype == float64
assert functional.max_unpool3d(*functional.max_pool3d(volume, 2, return_indices=True), 2).shape == volume.shape
volume.requires_grad_()
functional.adaptive_max_pool3d(volume, 2).sum().backward()
functional.max_pool3d(volume, 2).sum().backward()
assert volume.grad.sum() == 32
