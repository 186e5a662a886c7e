import os

import torch
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

if not torch.cuda.is_available():
    os.environ["TORCH_CUDA_ARCH_LIST"] = "8.0"

setup(
    name="fast",
    ext_modules=[
        CUDAExtension("fast_engine", ["engine.cu"]),
        CUDAExtension(name="fast._C", sources=["more.cu"]),
    ],
    cmdclass={"build_ext": BuildExtension},
)
