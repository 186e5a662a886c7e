# torch 2.7.1, CANN 9.0.0, Python 3.11, A2, aarch64
# Written by `jumar plan`, never tried on an NPU. To start it on a host:
# docker run -it --rm --ipc=host --shm-size=16g \
#   --device /dev/davinci0 --device /dev/davinci_manager --device /dev/devmm_svm --device /dev/hisi_hdc \
#   -v /usr/local/dcmi:/usr/local/dcmi -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi \
#   -v /usr/local/Ascend/driver/lib64/:/usr/local/Ascend/driver/lib64/ \
#   -v /usr/local/Ascend/driver/version.info:/usr/local/Ascend/driver/version.info \
#   -v /etc/ascend_install.info:/etc/ascend_install.info IMAGE bash
FROM ascendai/cann:9.0.0-910b-ubuntu22.04-py3.11
# The address of PyTorch's CPU builds; it is read from PyTorch's own page unless --build-arg sets it.
ARG TORCH_INDEX=""
RUN TORCH_INDEX="${TORCH_INDEX:-$({ curl -fsSL https://pytorch.org/get-started/previous-versions/ || wget -qO- https://pytorch.org/get-started/previous-versions/; } | grep -oE 'https://[A-Za-z0-9./_-]+/whl/cpu' | head -n 1)}" && test -n "$TORCH_INDEX" && \
    python3 -m pip install --no-cache-dir numpy==1.26.2 attrs cython decorator sympy cffi pyyaml pathlib2 psutil 'protobuf==3.20.*' scipy requests absl-py && \
    python3 -m pip install --no-cache-dir torch==2.7.1 --index-url "$TORCH_INDEX" && \
    python3 -m pip install --no-cache-dir torch_npu==2.7.1.post4 && \
    python3 -m pip install --no-cache-dir torchvision==0.22.1 --index-url "$TORCH_INDEX" && \
    python3 -m pip install --no-cache-dir torchaudio==2.7.1 --index-url "$TORCH_INDEX"
